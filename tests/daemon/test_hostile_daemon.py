"""What hostile names, lines and files can do to a running daemon, its answers and its files: nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import urllib.request

import pytest
from daemon_support import Daemon, cli, small_host, until
from hypothesis import given, settings
from hypothesis import strategies as st
from test_incidents import RULE

from neuronwatch.daemon.exporters import exposition

SECRET = "hf_" + "Q7" * 17
NAMES = (
    b"\x1b[31mred",
    b"[bold]x[/bold]",
    b"a\nb\rc",
    b"x" * 100_000,
    b"\xff\xfe\x80",
    b"<b>&\"'`",
    "\u202eevil".encode(),
    b"}\n# HELP x",
)
SAMPLE = re.compile(r'[a-zA-Z_:][\w:]*(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*"(?:,|(?=\})))*\})? \S+')


def process(host, pid, name, *arguments):
    base = host / f"proc/{pid}"
    (base / "fd").mkdir(parents=True)
    (base / "stat").write_bytes(b"%d (%s) S 1 " % (pid, name[:15]) + b"0 " * 48 + b"\n")
    (base / "status").write_text("Name:\tx\nThreads:\t4\n")
    (base / "comm").write_bytes(name[:15] + b"\n")
    (base / "cmdline").write_bytes(b"\0".join((name, *arguments)) + b"\0")
    (base / "environ").write_bytes(b"A=" + name + b"\0")
    (base / "fd/0").symlink_to("/dev/neuron0")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def harmless(text):
    return not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_processes_and_lines(tmp_path):
    host, rules, log = small_host(tmp_path / "host"), tmp_path / "rules", tmp_path / "host/srv/job.log"
    for number, name in enumerate(NAMES):
        process(host, 500 + number, name, b"--token", SECRET.encode(), name)
    rules.mkdir()
    signature = (
        "\n[[signature]]\nname = 'line'\npattern = 'the thing broke'\n[[sample]]\nexpect = 'fires'\ntext = 'the thing broke'\n"
    )
    text = RULE.format(name="thing", version="1.1.1")
    text = text[: text.index("[[join]]")] + signature + "[[sample]]\nexpect = 'silent'\ntext = 'nothing'\n"
    (rules / "one.toml").write_text(text)
    log.parent.mkdir()
    log.write_bytes(b"")
    port = free_port()
    config = tmp_path / "c.toml"
    config.write_text(f'[logs]\nglobs = ["/srv/job.log"]\n[exporters.prometheus]\nlisten = "127.0.0.1:{port}"\n')
    config.chmod(0o600)
    with Daemon(host, tmp_path / "s", "--rules", str(rules), "--config", str(config)) as daemon, daemon.client() as client:
        until(lambda: any(item["state"] == "fresh" for item in client.call("sources")["sources"]), "a source")
        with log.open("ab") as file:
            for name in NAMES:
                file.write(b"the thing broke " + name + b" HF_TOKEN=" + SECRET.encode() + b"\n")
        (incident,) = until(lambda: client.call("incidents")["incidents"], "an incident")
        until(lambda: (tmp_path / "s/judge.json").exists(), "it is written down")
        answers = [
            json.dumps(client.call(method)) for method in ("status", "incidents", "conditions", "facts", "events", "snapshot")
        ]
        answers.append(json.dumps(client.call("evidence", id=incident["id"])))
        shown = [cli(*verb, "--state-dir", str(tmp_path / "s")).stdout for verb in
                 (("status",), ("incidents",), ("incidents", "show", incident["id"]), ("status", "--format", "markdown"))]  # fmt: skip
        assert all(map(harmless, shown)) and max(map(len, shown)) < 20_000
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        assert all(line.startswith("# ") or SAMPLE.fullmatch(line) for line in lines)
        assert daemon.end() == 0
        files = [path.read_bytes().decode("utf-8", "replace") for path in (tmp_path / "s").iterdir() if path.is_file()]
        assert not any(SECRET in text for text in (*answers, *shown, *lines, *files, daemon.said()))


@given(st.text())
@settings(max_examples=200)
def test_a_label_is_what_it_was(text):
    text = text.encode("utf-8", "replace").decode()
    (line,) = "".join(exposition._family("a", "gauge", "b", [((("c", text),), 1.0)])).split("\n")[2:-1]
    assert SAMPLE.fullmatch(line)
    inner = line[len('a{c="') : -len('"} 1')]
    assert re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), inner) == text


def test_a_storm_of_rotations(tmp_path):
    """A hundred rotations a second: nothing is said twice, descriptors and memory stay, and the log is followed to its end."""
    host, log = small_host(tmp_path / "host"), tmp_path / "host/srv/job.log"
    log.parent.mkdir()
    log.write_text("begin\n")
    config = tmp_path / "c.toml"
    config.write_text('[logs]\nglobs = ["/srv/job.log"]\n')
    config.chmod(0o600)
    with Daemon(host, tmp_path / "s", "--config", str(config)) as daemon, daemon.client() as client:
        shown = until(lambda: client.call("logs")["paths"], "the log")[0]
        client.call("subscribe", topics=["logs"])
        before = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        heard = []
        for number in range(200):
            with log.open("a") as file:
                file.write(f"line {number}\n")
            shutil.move(log, log.with_suffix(".log.1"))
            log.touch()
            event = client.event(0.005)
            if event:
                heard += [line for item in event["data"] for line in item["lines"]]
        with log.open("a") as file:
            file.write("the end\n")
        until(lambda: "the end" in client.call("logs", path=shown)["lines"], "the last line")
        while (event := client.event(0.3)) is not None:
            heard += [line for item in event["data"] for line in item["lines"]]
        told = [line for line in heard if line.startswith("line ")]
        assert len(told) == len(set(told))
        until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) <= before + 30, "not one descriptor for each rotation")
        assert "defect" not in daemon.said()


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}])
def test_status_on_a_small_terminal(tmp_path, colour):
    """As a person sees it: colours unless NO_COLOR says no, no line wider than the terminal, nothing left out."""
    import pty
    import struct
    import subprocess
    import sys
    import termios

    fcntl = pytest.importorskip("fcntl")
    with Daemon(small_host(tmp_path / "host"), tmp_path / "s", env={}) as daemon:
        until(lambda: "missing" in cli("status", "--state-dir", str(daemon.state)).stdout, "a source with a reason")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environ = (
            {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")} | {"TERM": "xterm"} | colour
        )
        argv = [sys.executable, "-m", "neuronwatch", "status", "--state-dir", str(daemon.state)]
        with subprocess.Popen(argv, stdout=theirs, env=environ) as child:
            os.close(theirs)
            text = b""
            try:
                while part := os.read(ours, 65536):
                    text += part
            except OSError:  # the other end is closed
                pass
            child.wait(60)
        os.close(ours)
    plain = re.sub(r"\x1b\[[\d;]*m", "", text.decode()).replace("\r", "")
    assert ("\x1b[" in text.decode()) == (not colour)
    assert plain.strip() and max(map(len, plain.splitlines())) <= 80
    assert "sysfs" in plain and "daemon" in plain
