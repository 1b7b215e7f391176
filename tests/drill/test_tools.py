"""The programs of the simulated host: flags, exit codes, layouts by version of the tools and by instance."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill.host import DrillHost

BIN = "opt/aws/neuron/bin"


def call(root: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = argv
    return subprocess.run([str(root / BIN / program), *arguments], capture_output=True, text=True, timeout=30,
                          env={"PATH": os.environ["PATH"], **environ})  # fmt: skip


TABLES = {
    ("trn1.2xlarge", "2.28.23.0"): """\
+--------+--------+----------+--------+--------------+----------+------+
| NEURON | NEURON |  NEURON  | NEURON |     PCI      |   CPU    | NUMA |
| DEVICE | CORES  | CORE IDS | MEMORY |     BDF      | AFFINITY | NODE |
+--------+--------+----------+--------+--------------+----------+------+
| 0      | 2      | 0-1      | 32 GB  | 0000:00:1e.0 | 0-7      | -1   |
+--------+--------+----------+--------+--------------+----------+------+
""",
    ("trn1.2xlarge", "2.15.4.0"): """\
+--------+--------+--------+---------+
| NEURON | NEURON | NEURON |   PCI   |
| DEVICE | CORES  | MEMORY |   BDF   |
+--------+--------+--------+---------+
| 0      | 2      | 32 GB  | 00:1e.0 |
+--------+--------+--------+---------+
""",
    ("trn2.3xlarge", "2.25.145.0"): """\
+--------+--------+----------+--------+--------------+----------+------+
| NEURON | NEURON |  NEURON  | NEURON |     PCI      |   CPU    | NUMA |
| DEVICE | CORES  | CORE IDS | MEMORY |     BDF      | AFFINITY | NODE |
+--------+--------+----------+--------+--------------+----------+------+
| 0      | 4      | 0-3      | 96 GB  | 0000:33:00.0 | 0-11     | 0    |
+--------+--------+----------+--------+--------------+----------+------+
""",
    ("inf1.6xlarge", "2.4.14.0"): """\
+--------+--------+--------+-----------+--------------+
| NEURON | NEURON | NEURON | CONNECTED |     PCI      |
| DEVICE | CORES  | MEMORY |  DEVICES  |     BDF      |
+--------+--------+--------+-----------+--------------+
| 0      | 4      | 8 GB   | 1         | 0000:00:1c.0 |
| 1      | 4      | 8 GB   | 2, 0      | 0000:00:1d.0 |
| 2      | 4      | 8 GB   | 3, 1      | 0000:00:1e.0 |
| 3      | 4      | 8 GB   | 2         | 0000:00:1f.0 |
+--------+--------+--------+-----------+--------------+
""",
}


@pytest.mark.parametrize(("instance", "tools"), TABLES)
def test_the_table_of_an_idle_host(make_host: MakeHost, instance: str, tools: str) -> None:
    host = make_host(instance, tools=tools, workload="idle", seconds=2)
    result = call(host.root, "neuron-ls")
    head = f"instance-type: {instance}\ninstance-id: {host.machine.identity.instance_id}\n"
    head += "logical-neuroncore-config: 2\n" if instance.startswith("trn2") else ""
    assert (result.returncode, result.stdout) == (0, ("" if tools.startswith("2.4") else head) + TABLES[instance, tools])


def test_the_table_with_processes(make_host: MakeHost) -> None:
    """Rows of one device follow each other with blank device cells and rules between devices; PID stands before the affinity."""
    host = make_host("trn1.32xlarge", tools="2.26.14.0", seconds=4)
    lines = call(host.root, "neuron-ls").stdout.splitlines()
    assert lines[3] == ("| NEURON | NEURON |  NEURON  | NEURON |   CONNECTED   |     PCI      |  PID  |     CPU      | NUMA | "
                        "                COMMAND                  | RUNTIME |")  # fmt: skip
    pids = [process.pid for process in host.machine.users()]
    assert lines[6].startswith(
        f"| 0      | 2      | 0-1      | 32 GB  | 12, 3, 4, 1   | 0000:10:1c.0 | {pids[0]} | 0-31,64-95   | 0    | /opt/aws_neuronx"
    )
    assert lines[7].startswith(
        f"|        |        |          |        |               |              | {pids[1]} |              |      | /opt"
    )
    assert lines[6].endswith("bin... | 2.28.23 |") and set(lines[8]) == set("+-")
    assert len(lines) == 2 + 3 + 1 + 16 * 3


def test_an_idle_device_beside_busy_ones(make_host: MakeHost) -> None:
    host = make_host("trn1.32xlarge", seconds=4)
    for process in list(host.machine.users()):
        if process.devices != (0,):
            host.machine.end(process)
    host.render()
    lines = call(host.root, "neuron-ls", "-w").stdout.splitlines()
    row = next(line for line in lines if line.startswith("| 15 "))
    assert [cell.strip() for cell in row.split("|")[7:12]] == ["NA", "32-63,96-127", "1", "NA", "NA"]
    wide = next(line for line in lines if line.startswith("| 0 "))
    assert len(next(cell for cell in wide.split("|") if cell.strip().endswith("...")).strip()) == 80


def test_json(make_host: MakeHost) -> None:
    host = make_host("trn2.48xlarge", tools="2.32.28.0", seconds=4)
    result = call(host.root, "neuron-ls", "-j")
    assert result.stdout.startswith('[\n    {\n        "instance_type"') and result.stdout.endswith("]")
    rows = json.loads(result.stdout)
    assert len(rows) == 16
    row = rows[3]
    users = row.pop("neuron_processes")
    assert row == {"instance_type": "trn2.48xlarge", "instance_id": host.machine.identity.instance_id, "neuron_device": 3,
                   "bdf": "0000:cb:00.0", "cpu_affinity": "48-95,144-191", "numa_node": "1", "connected_to": [15, 2, 7, 0], "nc_count": 4,
                   "logical_neuroncore_config": 2, "memory_size": 103079215104, "neuroncore_ids": [12, 13, 14, 15]}  # fmt: skip
    assert [sorted(user) for user in users] == [["command", "neuron_runtime_version", "pid"]] * 4
    assert all(len(user["command"]) <= 40 for user in users)
    single = json.loads(call(host.root, "neuron-ls", "-j", NEURON_LOGICAL_NC_CONFIG="1").stdout)[3]
    assert single["nc_count"] == 8 and single["neuroncore_ids"] == list(range(24, 32))


def test_json_of_older_tools(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", tools="2.22.61.0", seconds=4)
    row = json.loads(call(host.root, "neuron-ls", "--json-output").stdout)[0]
    assert list(row) == ["neuron_device", "bdf", "connected_to", "nc_count", "memory_size", "neuron_processes"]
    assert row["bdf"] == "00:1e.0" and row["connected_to"] is None


def test_flags_and_exit_codes(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", seconds=4)
    wrong = call(host.root, "neuron-ls", "-v")
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (1, "unknown flag `v'\n", "")
    everybody = call(host.root, "neuron-ls", "-a").stdout
    assert re.search(r"\| neuron-ls -a +\| NA ", everybody)
    host.machine.devices[0].present = False
    host.render()
    gone = call(host.root, "neuron-ls", "-j")
    assert gone.returncode == 1 and gone.stdout == "" and gone.stderr.count("\n") == 1
    assert not (host.root / "dev/neuron0").exists()


def test_topology(make_host: MakeHost) -> None:
    host = make_host("trn1.32xlarge", seconds=2, workload="idle")
    text = call(host.root, "neuron-ls", "-t").stdout
    assert "*––►[ 4 ]◄––►[ 5 ]◄––►[ 6 ]◄––►[ 7 ]◄––*" in text and "*––►[12 ]◄––►[13 ]" in text
    assert text.endswith("Legend:\n\n        *––► = Wrap-around link\n")


def monitored(host: DrillHost, records: int, *arguments: str) -> list[dict[str, Any]]:
    """So many records of neuron-monitor, while the host moves on between them."""
    program = subprocess.Popen([str(host.root / BIN / "neuron-monitor"), *arguments], stdout=subprocess.PIPE)
    found: list[dict[str, Any]] = []
    try:
        assert program.stdout is not None
        for _ in range(records):
            found.append(json.loads(program.stdout.readline()))
            run(host, 6)
    finally:
        program.kill()
        program.wait()
    return found


def test_monitor_gives_a_partial_record_first(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", rate=40, seconds=30)
    first, second = monitored(host, 2)
    assert list(first) == ["neuron_runtime_data", "system_data", "instance_info", "neuron_hardware_info"]
    assert list(first["system_data"]) == ["memory_info"]
    assert [list(item["report"]) for item in first["neuron_runtime_data"]] == [["memory_used"]] * 2
    assert list(second["system_data"]) == ["memory_info", "vcpu_usage"], "hardware counters are not in the default configuration"
    report = second["neuron_runtime_data"][1]["report"]
    assert list(report) == ["execution_stats", "memory_used", "neuron_runtime_vcpu_usage", "neuroncore_counters"]
    assert list(report["neuroncore_counters"]["neuroncores_in_use"]) == ["1"]
    assert 30 < report["neuroncore_counters"]["neuroncores_in_use"]["1"]["neuroncore_utilization"] <= 100
    assert first["neuron_hardware_info"] == {
        "neuron_device_type": "trainium", "neuron_device_version": "v2", "neuroncore_version": "v2", "neuron_device_count": 1,
        "neuron_device_memory_size": 34359738368, "neuroncore_per_device_count": 2, "logical_neuroncore_config": 1, "error": ""}  # fmt: skip


def test_monitor_counts_per_period(make_host: MakeHost) -> None:
    """The tallies are those of the period: they stay of one size while the process works on."""
    host = make_host("trn1.2xlarge", rate=40, seconds=30)
    done = [
        item["neuron_runtime_data"][0]["report"]["execution_stats"]["execution_summary"]["completed"]
        for item in monitored(host, 5)[1:]
    ]
    total = next(host.machine.users()).tallies["completed"]
    assert all(0 < value < total / 2 for value in done)


def test_monitor_configuration(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host("inf2.xlarge", rate=40, seconds=30)
    config = tmp_path / "monitor.conf"
    config.write_text(json.dumps({
        "period": "1s", "neuron_runtimes": [{"tag_filter": "^nobody$", "metrics": [{"type": "execution_stats"}]}],
        "system_metrics": [{"type": "neuron_hw_counters"}, {"type": "memory_info", "period": "2s"}]}))  # fmt: skip
    records = monitored(host, 4, "-c", str(config))
    assert all(item["neuron_runtime_data"] == [] for item in records)
    assert [sorted(item["system_data"]) for item in records[1:]] == [["neuron_hw_counters"], ["memory_info", "neuron_hw_counters"],
                                                                     ["neuron_hw_counters"]]  # fmt: skip
    assert records[1]["system_data"]["neuron_hw_counters"]["neuron_devices"] == [
        {"neuron_device_index": 0, "mem_ecc_corrected": 0, "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0, "sram_ecc_corrected": 0}]  # fmt: skip
    wrong = call(host.root, "neuron-monitor", "-c", str(tmp_path / "none"))
    assert wrong.returncode == 1 and wrong.stdout == ""
    assert call(host.root, "neuron-monitor", "--once").returncode == 1


def test_monitor_of_an_idle_host_and_of_two_core_kinds(make_host: MakeHost) -> None:
    idle = monitored(make_host("trn1.2xlarge", rate=40, workload="idle"), 2)[1]
    assert idle["neuron_runtime_data"] == [] and "neuroncore_counters" not in json.dumps(idle)
    busy = monitored(make_host("trn2.3xlarge", rate=40), 2)[1]
    cores = busy["neuron_runtime_data"][1]["report"]["neuroncore_counters"]["neuroncores_in_use"]
    assert list(cores["1"]["v3d"]) == ["nc_v3.2", "nc_v3.3"]
    assert busy["neuron_hardware_info"]["neuroncore_version"] == "v3d"


def top(root: Path, keys: list[bytes], width: int = 190, height: int = 60) -> tuple[list[str], int]:
    """The last screen of neuron-top in a terminal, before `q`, and its exit status."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(root / BIN / "neuron-top", ["neuron-top"])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    data, last, waiting, shown = b"", b"", [*keys, b"q"], 0
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.5)
        if not ready:
            continue
        try:
            data += os.read(master, 1 << 16)
        except OSError:
            break
        frames = data.count(b"\x1b[J")
        if frames >= shown + 2 and waiting and data.endswith(b"\x1b[J"):
            shown, last = frames, data
            os.write(master, waiting.pop(0))
    else:
        os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert data.startswith(b"\x1b[?1049h") and data.rstrip().endswith(b"\x1b[?1049l")
    screen = last.split(b"\x1b[H")[-1].decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "").split("\n"), os.waitstatus_to_exitcode(status)


def test_top_draws_a_screen(make_host: MakeHost) -> None:
    host = make_host("trn1.32xlarge", rate=40, seconds=20)
    lines, status = top(host.root, [])
    assert status == 0 and len(lines) == 60
    assert lines[0].strip() == f"neuron-top 2.26.14.0 running on {host.machine.identity.instance_id} (trn1.32xlarge)"
    assert re.fullmatch(r"NeuronCore v2 Utilization \(Avg: \d\d\.\d\d%\)", lines[2])
    assert lines[3] == " " * 45 + "NC0" + " " * 89 + "NC1"
    assert re.fullmatch(r"ND0  \|{83}\[\d\d\.\d\d%\] \|{83}\[\d\d\.\d\d%\]", lines[4])
    assert lines[24].startswith("Memory Usage Summary") or "Memory Usage Summary" in lines
    assert lines[-2].startswith("Neuron Apps                     >[1]:all<")


def test_top_obeys_keys_and_refuses_without_a_terminal(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", rate=40, seconds=20)
    lines, _ = top(host.root, [b"f"])
    assert re.match(r"NeuronCore v2 Utilization \(Avg: +\d+\.\d{3}TF \| Total: +\d+\.\d{3}TF\)", lines[2])
    lines, _ = top(host.root, [b"d"])
    assert ">[2]:" in lines[-2] and "[1]:all" in lines[-2] and ">[1]" not in lines[-2]
    assert call(host.root, "neuron-top").returncode == 1
    assert call(host.root, "neuron-top", "-n", "1").returncode == 1


def test_dmesg(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", seconds=4)
    text = subprocess.run([str(host.root / "usr/bin/dmesg")], capture_output=True, text=True, check=True).stdout
    assert re.search(
        r"(?m)^\[ +\d\.\d{6}\] Neuron Driver Started with Version:2\.24\.7\.0-\w{10} at: 2\d{3}-[a-z]{3}-\d\d \d\d:", text
    )
    assert re.search(r"(?m)^\[\d+\.\d{6}\] neuron:npid_attach: neuron:npid_attach: pid=\d+, slot=0$", text)
    kept = (host.root / "var/log/kern.log").read_text()
    assert len(kept.splitlines()) == len(text.splitlines())
    assert re.match(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ip-10-\d+-\d+-\d+ kernel: \[", kept)


def test_root_opens_a_device_whatever_its_mode(make_host: MakeHost) -> None:
    host = make_host("trn1.2xlarge", seconds=2)
    for mode in (0o660, 0o600):
        for device in host.machine.devices:
            device.mode = mode
        run(host, 2)
        assert call(host.root, "neuron-ls").returncode == (0 if os.geteuid() == 0 else 1)
