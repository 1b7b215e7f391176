"""The old stack with neuron-rtd on Inf1: the daemon's journal, the tools of the 1.x line."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill import spec
from neuronwatch.drill.jobs.rtd import RtdJob


def journal(root: Path, *arguments: str) -> str:
    return subprocess.run(
        [str(root / "usr/bin/journalctl"), *arguments], capture_output=True, text=True, check=True, timeout=20
    ).stdout


def test_the_daemon_logs_to_the_journal_alone(make_host: MakeHost) -> None:
    host = make_host("inf1.6xlarge", driver=spec.LEGACY_DRIVER)
    text = journal(host.root, "-u", "neuron-rtd", "--no-pager")
    pid = host.machine.jobs[0].processes[0].pid
    name = host.machine.identity.hostname
    assert re.search(rf"(?m)^[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d {name} neuron-rtd\[{pid}\]: nrtd\[{pid}\]: \[TDRV:tdrv_init_one_mla_phase2\] "
                     r"Initialized Inferentia: 0000:00:1f\.0$", text)  # fmt: skip
    assert f"nrtd[{pid}]: [NRTD:nrtd_main] Server listening on unix:/run/neuron.sock" in text
    assert text == journal(host.root, "--unit=neuron-rtd*") and journal(host.root, "-u", "other") == "-- No entries --\n"
    entry = json.loads(journal(host.root, "-u", "neuron-rtd", "-o", "json", "-n", "1"))
    assert entry["_SYSTEMD_UNIT"] == "neuron-rtd.service" and entry["_PID"] == str(pid)
    assert not (host.root / "sys/devices/virtual/neuron_device").exists()
    assert "Server listening" in (host.root / "var/log/syslog").read_text()


def test_the_journal_can_be_followed(make_host: MakeHost) -> None:
    host = make_host("inf1.xlarge", driver=spec.LEGACY_DRIVER)
    program = str(host.root / "usr/bin/journalctl")
    follower = subprocess.Popen([program, "-f", "-u", "neuron-rtd", "-n", "1"], stdout=subprocess.PIPE)
    try:
        job = host.machine.jobs[0]
        assert isinstance(job, RtdJob)
        job.broken = "Failed to initialize devices, error:1"
        job.stop(1)
        assert follower.stdout is not None
        assert b"Server listening" in follower.stdout.readline()
        run(host, 60)
        lines = [follower.stdout.readline().decode() for _ in range(12)]
        assert any("[NRTD:InitTongas] Failed to initialize devices, error:1" in line for line in lines)
        assert any("neuron-rtd.service: main process exited, code=exited, status=1/FAILURE" in line for line in lines)
        assert not any("Server listening" in line for line in lines)
    finally:
        follower.kill()
        follower.wait()


def test_tools_of_the_old_line(make_host: MakeHost) -> None:
    host = make_host("inf1.6xlarge", driver=spec.LEGACY_DRIVER)
    pid = host.machine.jobs[0].processes[0].pid
    program = str(host.root / "opt/aws/neuron/bin/neuron-ls")
    table = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert table[1] == "| NEURON | NEURON | NEURON | CONNECTED |     PCI      |        RUNTIME        | RUNTIME | RUNTIME  |"
    assert table[2] == "| DEVICE | CORES  | MEMORY |  DEVICES  |     BDF      |        ADDRESS        |   PID   | VERSION  |"
    assert table[4] == f"| 0      | 4      | 8 GB   | 1         | 0000:00:1c.0 | unix:/run/neuron.sock | {pid}   | 1.6.24.0 |"
    assert subprocess.run([program, "-j"], capture_output=True, check=False).returncode == 1


def test_only_inf1_had_it() -> None:
    with pytest.raises(spec.NoSuchInstance, match="inf1 only"):
        spec.software(spec.instance("trn1.2xlarge"), spec.LEGACY_DRIVER)
