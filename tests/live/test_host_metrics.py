"""Numbers of the host: of this machine, of a host of files, and of files that are garbled."""

from __future__ import annotations

import select
from pathlib import Path

import pytest
from tree_support import Polled, put, values

from neuronwatch.model import metrics
from neuronwatch.source.host import HostRoot
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.host_metrics import HostMetrics
from neuronwatch.source.live.signal_pipe import SignalPipe

NET = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n"


def write(host: Path, *, user: int = 100, idle: int = 900, available: int = 4_000_000, received: int = 0, sectors: int = 0) -> None:
    put(host / "proc/stat", f"cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 {user} 0 0 {idle} 0 0 0 0 0 0\nbtime 1700000000\n")
    put(host / "proc/meminfo", f"MemTotal:  8000000 kB\nMemFree: 100 kB\nMemAvailable: {available} kB\nBuffers: 1 kB\nCached: 1 kB\n"
        "Active: 1 kB\nInactive: 1 kB\nSwapTotal: 1000 kB\nSwapFree: 400 kB\nShmem: 1 kB\nSlab: 1 kB\n")  # fmt: skip
    rows = "".join(f"{name}: {received} 1 0 2 0 0 0 0 {received} 1 0 0 0 0 0 0\n" for name in ("lo", "ens5", "docker0"))
    put(host / "proc/net/dev", NET + rows)
    put(host / "proc/diskstats", f" 259 0 nvme0n1 1 0 {sectors} 1 1 0 0 1 0 1 1\n 259 1 nvme0n1p1 1 0 {sectors} 1 1 0 0 1 0 1 1\n")
    put(host / "proc/loadavg", "3.25 1.00 1.00 1/1 1\n")
    put(
        host / "proc/pressure/memory",
        "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
    )


def test_a_host_of_files(tmp_path: Path) -> None:
    write(tmp_path)
    poll = Polled(HostMetrics(HostRoot(tmp_path), SignalPipe()))
    first = values(poll())
    assert ("host.cpu", "") not in first  # a share needs two readings
    write(tmp_path, user=175, idle=925, received=3_000, sectors=100)
    found = values(poll(2.0))
    assert ("host.load", "") not in found  # the kernel renews it each five seconds
    found |= {key: first[key] for key in (("host.load", ""), ("host.pressure.memory", ""))}
    assert found == {
        ("host.cpu", ""): 75, ("host.memory.total", ""): 8_192_000_000, ("host.memory.available", ""): 4_096_000_000,
        ("host.memory.used", ""): 4_096_000_000, ("host.swap.used", ""): 614_400, ("host.network.receive", ""): 1500,
        ("host.network.transmit", ""): 1500, ("host.network.errors", ""): 2, ("host.disk.read", ""): 25_600, ("host.disk.write", ""): 0,
        ("host.load", ""): 3.25, ("host.pressure.memory", ""): 12.5,
    }  # fmt: skip
    assert {name for name, _ in found} <= metrics.BY_NAME.keys()


def test_short_memory_makes_the_facts_of_the_host_be_read_again(tmp_path: Path) -> None:
    write(tmp_path)
    again = SignalPipe()
    descriptor = again.descriptor
    poll = Polled(HostMetrics(HostRoot(tmp_path), again))
    poll()
    write(tmp_path, available=3_990_000)
    poll()
    assert not select.select([descriptor], [], [], 0)[0]
    write(tmp_path, available=1_000_000)
    poll()
    assert select.select([descriptor], [], [], 0)[0]
    again.clear()
    told = 0
    for second in range(60):  # to and fro around a step
        write(tmp_path, available=1_000_000 + (second % 2) * 4_000_000)
        poll()
        told += bool(select.select([descriptor], [], [], 0)[0])
        again.clear()
    assert told <= 5
    again.close()


def test_garbage_of_one_file_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path)
    put(tmp_path / "proc/stat", "\x00\xff cpu what\n")
    with pytest.raises(Broken, match="processors: ") as error:
        Polled(HostMetrics(HostRoot(tmp_path), SignalPipe()))()
    assert error.value.delivery is not None
    assert values(error.value.delivery)["host.load", ""] == 3.25


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(Absent, match="there is no /proc"):
        Polled(HostMetrics(HostRoot(tmp_path), SignalPipe()))()
    (tmp_path / "proc").mkdir()
    with pytest.raises(Absent, match="nothing of /proc can be read"):
        Polled(HostMetrics(HostRoot(tmp_path), SignalPipe()))()


def test_this_machine() -> None:
    poll = Polled(HostMetrics(HostRoot("/"), SignalPipe()))
    poll()
    found = values(poll(10.0))
    assert found["host.memory.total", ""] > found["host.memory.used", ""] > 0  # type: ignore[operator]
    assert 0 < found["host.disk.used", ""] <= 100  # type: ignore[operator]
