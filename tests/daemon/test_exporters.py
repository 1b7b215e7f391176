"""Exporters: names and labels, the tiny HTTP server against bad clients, files, the plug-in's answer, schemas, the unit."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import jsonschema
import pytest
from daemon_support import PATIENCE, Daemon, cli, small_host, until

from neuronwatch.cli import schema
from neuronwatch.daemon.exporters import exposition, npd
from neuronwatch.daemon.exporters.api import Value, View
from neuronwatch.daemon.exporters.http import CannotListen, address_of
from neuronwatch.daemon.notify import Notifier
from neuronwatch.daemon.unit import unit
from neuronwatch.model import metrics
from neuronwatch.model.live import Health

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    place = tmp_path_factory.mktemp("e")
    config = place / "c.toml"
    config.write_text(
        f'[exporters.prometheus]\nlisten = "127.0.0.1:0"\n[exporters.textfile]\npath = "{place}/x.prom"\ninterval = 1\n'
        f'[sources.packages]\nenabled = false\n[exporters.npd]\npath = "{place}/npd.json"\n'
    )
    config.chmod(0o600)
    with Daemon(small_host(place / "host"), place / "s", "--config", str(config), "--log-format", "json") as running:
        yield running


def port_of(daemon) -> int:
    for line in daemon.said().splitlines():
        if line.startswith("{") and json.loads(line)["message"] == "metrics are served":
            return json.loads(line)["port"]
    raise AssertionError(daemon.said())


def test_prometheus_is_served_and_bad_clients_do_no_harm(daemon):
    port = port_of(daemon)
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE).read().decode()
    assert re.search(r'neuronwatch_source_up\{source="sysfs"\} [01]', text) and "# TYPE process_cpu_seconds_total counter" in text
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/etc/passwd", timeout=PATIENCE)
    for request in (b"x" * 10000, b"POST /metrics HTTP/1.1\r\n\r\n", b"\r\n\r\n", b"GET /metrics SPDY/9\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            assert connection.recv(100).startswith(b"HTTP/1.1 4")
    for connection in idle:
        connection.close()
    promtool = shutil.which("promtool")
    if promtool:
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed")
def test_a_real_prometheus_scrapes_it(daemon, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = tmp_path / "p.yml"
    target = f"127.0.0.1:{port_of(daemon)}"
    config.write_text(
        f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: nw, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    argv = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/t", f"--web.listen-address=127.0.0.1:{port}"]
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        query = f"http://127.0.0.1:{port}/api/v1/query?query=neuronwatch_source_up"

        def scraped():
            try:
                return json.loads(urllib.request.urlopen(query, timeout=5).read())["data"]["result"]
            except OSError:
                return []

        sources = {item["metric"]["source"] for item in until(scraped, "a scrape")}
        assert "sysfs" in sources
    finally:
        server.terminate()
        server.wait(PATIENCE)


def test_files_are_written_whole(daemon):
    place = daemon.state.parent
    until(lambda: (place / "x.prom").exists() and (place / "npd.json").exists(), "the files")
    assert "neuronwatch_verdict" in (place / "x.prom").read_text()
    assert json.loads((place / "npd.json").read_text())["conditions"][0]["type"] == "NeuronProblem"


def test_what_is_printed_follows_its_schema(daemon):
    state = str(daemon.state)
    jsonschema.validate(json.loads(cli("status", "--state-dir", state, "--format", "json").stdout), schema.status())
    jsonschema.validate(json.loads(cli("incidents", "--state-dir", state, "--format", "json").stdout), schema.incidents())
    jsonschema.validate(json.loads(cli("status", "--state-dir", state + "-none", "--format", "json").stdout), schema.status())
    with daemon.client() as client:
        for message in ({"id": 1, "method": "status"}, {"event": "hello", "data": client.hello}, {"id": 2, "result": {}}):
            jsonschema.validate(message, schema.api())
    status = json.loads(cli("status", "--state-dir", state, "--format", "json").stdout)
    assert "packages" not in {item["name"] for item in status["sources"]}
    assert "source packages is switched off in the configuration" in status["unknown"]
    done = cli("status", "--state-dir", state, "--format", "npd")
    assert done.returncode in (0, 1, 2) and len(done.stdout.strip().encode()) <= 80


@pytest.mark.parametrize("name", sorted(schema.FILES))
def test_shipped_schemas_are_fresh(name):
    assert (ROOT / schema.FILES[name]).read_text() == schema.text(name), f"neuronwatch schema {name} > {schema.FILES[name]}"


def test_every_metric_has_a_name_that_prometheus_takes():
    names = [exposition.name_of(metric) for metric in metrics.ALL]
    assert len(set(names)) == len(names)
    for metric, name in zip(metrics.ALL, names, strict=True):
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", name) and metric.help
        assert name.endswith("_total") == (metric.kind == "counter")


def test_values_labels_and_what_is_hostile():
    metric = metrics.BY_NAME["core.utilization"]
    values = [Value("nd0:nc1", 50.0, 1.0), Value('odd"\n\\', 1.0, 1.0)]
    text = exposition.render(View(1.0, "healthy", (), (), (), [(metric, values)], {})).decode()
    assert 'neuronwatch_core_utilization_ratio{neuron_device="0",neuroncore="1"} 0.5\n' in text
    assert 'entity="odd\\"\\n\\\\"' in text


def test_no_port_is_open_to_others_unless_asked():
    assert address_of("[::1]:9100", False) == ("::1", 9100)
    assert address_of("0.0.0.0:9100", True) == ("0.0.0.0", 9100)
    for listen in ("0.0.0.0:9100", "example.org:80", "127.0.0.1:70000"):
        with pytest.raises(CannotListen):
            address_of(listen, False)


def test_the_plug_in_answers_in_80_bytes():
    incident = {"fault": "hw.device-missing", "title": "é" * 200, "opened": 1.0}
    document = {"verdict": "fault", "incidents": [incident], "reasons": [], "time": 2.0}
    line, code = npd.plugin_answer(document)
    assert code == 1 and line.startswith("HwDeviceMissing: ") and len(line.encode()) <= 80
    assert npd.plugin_answer({"verdict": "unknown", "incidents": [], "reasons": ["no\nsource"], "time": 1.0})[1] == 2
    assert npd.problem_status(document)["conditions"][0]["status"] == "True"


def health(state: str) -> list[Health]:
    return [Health("sysfs", state, 0.0, 5.0, mandatory=True), Health("other", "failed", 0.0, 5.0)]  # type: ignore[arg-type]


def test_systemd_is_told_and_its_watchdog_starves_once(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "n"))
        receiver.settimeout(PATIENCE)
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "4000000"})
        assert notifier.feeding == 2.0
        notifier.ready()
        notifier.status("a\nb")
        assert [receiver.recv(100) for _ in range(2)] == [b"READY=1", b"STATUS=a b"]
        assert notifier.feed(health("missing")) == "" and notifier.feed(health("stale")) == ""  # it never was fresh
        assert notifier.feed(health("fresh")) == ""
        assert [receiver.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        assert "sysfs" in notifier.feed(health("stale"))
        receiver.setblocking(False)
        with pytest.raises(BlockingIOError):
            receiver.recv(100)


def test_the_unit_is_sound(tmp_path):
    done = cli("service", "install", "--prefix", str(tmp_path))
    assert done.returncode == 0
    place = tmp_path / "etc/systemd/system/neuronwatch.service"
    assert place.read_text() and "Type=notify" in place.read_text()
    assert '"a b%%c$$"' in unit(["/x", "a b%c$"])
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    verified = subprocess.run(["systemd-analyze", "verify", str(place)], capture_output=True, text=True, timeout=60)
    assert verified.returncode == 0, verified.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(place)]
    secure = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert secure.returncode == 0, secure.stdout[-300:]
