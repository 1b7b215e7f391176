"""/proc of the simulated host as psutil reads it, which knows Linux and nothing of us."""

from __future__ import annotations

import os

import psutil
import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill.host import DrillHost


@pytest.fixture
def host(make_host: MakeHost, monkeypatch: pytest.MonkeyPatch) -> DrillHost:
    made = make_host("trn1.32xlarge", seconds=40)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(made.root / "proc"))
    return made


def test_the_machine(host: DrillHost) -> None:
    memory = psutil.virtual_memory()
    assert memory.total == host.machine.kind.host_memory and 0 < memory.available < memory.total
    assert len(psutil.cpu_times(percpu=True)) == 128
    before = psutil.cpu_times()
    run(host, 10)
    after = psutil.cpu_times()
    passed = sum(after) - sum(before)
    assert passed == pytest.approx(10 * 128, rel=0.1) and after.user > before.user
    assert psutil.boot_time() == pytest.approx(host.machine.clock.boot, abs=1.1)
    assert psutil.net_io_counters(pernic=True)["ens5"].bytes_recv > 0
    assert psutil.disk_io_counters(perdisk=True)["nvme0n1"].write_bytes > 0


def test_the_processes(host: DrillHost) -> None:
    assert set(psutil.pids()) == set(host.machine.processes)
    for rank in list(host.machine.users())[:3]:
        process = psutil.Process(rank.pid)
        assert process.name() == "python3" and process.ppid() == rank.parent and process.cmdline() == rank.argv
        assert process.environ() == rank.environ
        assert process.memory_info().rss == rank.rss // 4096 * 4096
        assert process.num_threads() == rank.threads and process.num_fds() == 3 + len(rank.devices)
        assert process.create_time() == pytest.approx(rank.started, abs=1.5)
        assert process.cpu_times().user == pytest.approx(rank.user_time, abs=0.02)
        assert process.status() == psutil.STATUS_RUNNING and process.uids().real == 1000


def test_descriptors_follow_the_devices(host: DrillHost) -> None:
    rank = next(host.machine.users())
    base = host.root / f"proc/{rank.pid}/fd"
    assert sorted(str((base / name).readlink()) for name in os.listdir(base)) == sorted(
        ["/dev/null", rank.output, rank.log, "/dev/neuron0"]
    )
    rank.devices = ()
    host.render()
    assert len(os.listdir(base)) == 3
    host.machine.end(rank)
    host.render()
    assert not (host.root / f"proc/{rank.pid}").exists()
    assert "neuron 425984 31 " in (host.root / "proc/modules").read_text()
