"""Runtime and job logs as a source: what is followed, its health, its pace, restarts."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

import pytest
from source_support import RealClock

from neuronwatch.model.live import Now
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import log_sources
from neuronwatch.source.live.api import Absent
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.logs import RuntimeLogs
from neuronwatch.source.live.runner import Runner


@pytest.fixture
def root(tmp_path):
    (tmp_path / "var/log/neuron").mkdir(parents=True)
    return tmp_path


def at(seconds: float) -> Now:
    return Now(time.time(), 1000.0 + seconds)


def lines(delivery) -> list[tuple[str, bytes]]:
    return [(item.path, item.data) for item in delivery.appended] if delivery is not None else []


def process(root: Path, pid: int, environ: dict[str, str], out: str = "", uid: int = 0) -> None:
    place = root / f"proc/{pid}"
    (place / "fd").mkdir(parents=True)
    (place / "environ").write_bytes(b"\0".join(f"{name}={value}".encode() for name, value in environ.items()))
    if out:
        (place / "fd/1").symlink_to(out)
    os.chown(place, uid, uid)


def test_nothing_to_follow_is_missing_until_there_is(root):
    source = RuntimeLogs(HostRoot(root))
    with pytest.raises(Absent, match="no log matches"):
        source.poll(at(0))
    (root / "var/log/neuron/rank0").write_bytes(b"one\n")
    assert lines(source.poll(at(20))) == [("host:/var/log/neuron/rank0", b"one\n")]
    assert source.poll(at(21)) is None  # silence is no news,
    assert source.poll(at(40)).appended == []  # but the source says that it is alive
    (root / "var/log/neuron/rank0").unlink()
    with pytest.raises(Absent):
        for second in range(41, 90):
            source.poll(at(second))
    source.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs other owners")
def test_where_processes_that_hold_devices_write(root):
    for name in ("runtime.log", "out.log", "secret", "nc.log"):
        (root / "var" / name).write_bytes(name.encode() + b"\n")
    for name in ("runtime.log", "out.log"):
        os.chown(root / "var" / name, 1000, 1000)
    process(root, 77, {"NEURON_RT_LOG_LOCATION": "/var/runtime.log", "HOME": "/root"}, "/var/out.log", uid=1000)
    process(root, 78, {"NEURON_RT_LOG_LOCATION": "/var/secret", "NEURON_RT_LOG_LOCATION_NRT": "console"}, "/dev/pts/0", uid=1000)
    process(root, 79, {"NEURON_RT_LOG_LOCATION_TDRV": "/var/nc.log"}, "pipe:[123]")
    process(root, 80, {"NEURON_RT_LOG_LOCATION": "/var/[r]untime.log"}, "/var/out.log (deleted)")
    holders = Holders()
    source = RuntimeLogs(HostRoot(root), (), holders=holders)
    with pytest.raises(Absent):
        source.poll(at(0))
    holders.are(frozenset((77, 78, 79, 80, 81)))
    found = lines(source.poll(at(10)))
    assert sorted(path for path, _ in found) == ["host:/var/nc.log", "host:/var/out.log", "host:/var/runtime.log"]
    holders.are(frozenset())  # what a process that ended wrote last is still read
    with (root / "var/out.log").open("ab") as handle:
        handle.write(b"Killed\n")
    assert lines(source.poll(at(20))) == [("host:/var/out.log", b"Killed\n")]
    source.close()


def test_a_busy_log_is_read_at_once_and_then_in_bundles(root):
    log = root / "var/log/neuron/a.log"
    log.touch()
    source = RuntimeLogs(HostRoot(root))
    now = RealClock().now
    source.poll(now())
    for _ in range(50):
        source.poll(now())
    with log.open("ab", buffering=0) as handle:
        polls = 0
        start = time.monotonic()
        for number in range(2000):
            handle.write(b"line %d\n" % number)
            if select.select(source.descriptors(), [], [], 0)[0]:
                source.poll(now())
                polls += 1
        passed = time.monotonic() - start
        assert polls <= 3 + passed / 0.009
    deadline = time.monotonic() + 10
    while select.select(source.descriptors(), [], [], 0.2)[0] and time.monotonic() < deadline:
        source.poll(now())
    assert source._followed._follower._logs["/var/log/neuron/a.log"].files[0].line == 2001
    source.close()
    assert source.descriptors() == ()


def test_positions_outlive_a_restart_and_a_broken_file(root, tmp_path):
    log, state = root / "var/log/neuron/a.log", tmp_path / "positions.json"
    log.write_bytes(b"one\ntwo\n")
    source = RuntimeLogs(HostRoot(root), state=state)
    source.poll(at(0))
    source.close()
    with log.open("ab") as handle:
        handle.write(b"three\n")
    source = RuntimeLogs(HostRoot(root), state=state)
    (item,) = source.poll(at(100)).appended
    assert (item.data, item.fresh, item.line) == (b"three\n", True, 3)
    source.close()
    for broken in (
        b"{",
        b'{"version": 9}',
        b'{"version": 1, "files": {"a": [[-1, 2, 3, "x", 5, 6]]}, "values": {}}',
        b"[" * 100_000,
    ):
        state.write_bytes(broken)
        source = RuntimeLogs(HostRoot(root), state=state)
        delivery = source.poll(at(200))
        assert delivery.reports[0].state == "partial" and "lost" in delivery.reports[0].reason
        assert state.with_name("positions.json.broken").read_bytes() == broken
        source.close()
    assert state.stat().st_mode & 0o777 == 0o600


def test_a_state_that_cannot_be_written_is_said_and_nothing_else(root, tmp_path):
    (root / "var/log/neuron/a.log").write_bytes(b"one\n")
    source = RuntimeLogs(HostRoot(root), state=tmp_path / "no/such/positions.json")
    delivery = source.poll(at(0))
    assert lines(delivery) and "cannot be saved" in delivery.reports[0].reason
    source.close()


def test_under_the_runner(root):
    """With its loop: lines come soon, in order, also while a flood goes on in another log."""
    delivered: list[tuple[str, bytes]] = []
    log, flood = root / "var/log/neuron/a.log", root / "var/log/neuron/b.log"
    log.touch()
    flood.touch()
    source = RuntimeLogs(HostRoot(root))
    runner = Runner([source], RealClock(), lambda delivery: delivered.extend(lines(delivery)))
    deadline = time.monotonic() + 20
    told = [0]

    def turn_until(condition):
        while not condition():
            assert time.monotonic() < deadline
            select.select([runner.fileno()], [], [], 0.01)
            runner.turn(RealClock().now())

    turn_until(lambda: len(source._followed.follower.followed) == 2)
    with flood.open("ab", buffering=0) as writer:
        for number in range(20):
            writer.write(b"noise of a flood that goes on and on\n" * 20_000)
            with log.open("ab") as handle:
                handle.write(b"line %d\n" % number)
            turn_until(lambda: b"line %d\n" % told[0] in b"".join(data for path, data in delivered if path.endswith("a.log")))
            told[0] += 1

    def total():
        return source.flood.dropped + sum(data.count(b"\n") for path, data in delivered if path.endswith("b.log"))

    turn_until(lambda: total() == 400_000)
    assert source.flood.dropped > 100_000
    runner.close()


def test_all_log_sources_of_a_host(root, tmp_path):
    sources = log_sources.of(HostRoot(root), tmp_path)
    assert [source.name for source in sources] == ["runtime-log", "kernel-log", "neuron-rtd"]
    for source in sources:
        source.close()
