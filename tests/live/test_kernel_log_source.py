"""The kernel log as a source: the ring record by record, the journal, files, dmesg; restarts, overruns, outages."""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from pathlib import Path

import pytest

from neuronwatch.model.live import Now
from neuronwatch.source.host.root import DRILL_MARKER, HostRoot
from neuronwatch.source.live import dmesg, journal_reader, kmsg
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.journal import Journal
from neuronwatch.source.live.kernel_log import KernelLog
from neuronwatch.source.live.kmsg import Kmsg
from neuronwatch.source.live.positions import Positions


def now(seconds: float = 0.0) -> Now:
    return Now(time.time(), time.monotonic() + seconds)


class Ring:
    """What reads of /dev/kmsg give: records, an overrun, or nothing now."""

    def __init__(self, monkeypatch, place: Path) -> None:
        self.next: list[bytes | int] = []
        place.touch()
        real = os.read
        monkeypatch.setattr(kmsg.os, "read", lambda descriptor, size: self.read(real, descriptor, size))
        self.descriptors: set[int] = set()

    def read(self, real, descriptor, size):
        if descriptor not in self.descriptors:
            return real(descriptor, size)
        if not self.next:
            raise BlockingIOError
        item = self.next.pop(0)
        if isinstance(item, int):
            raise OSError(item, os.strerror(item))
        return item

    def say(self, low: int, high: int) -> None:
        self.next += [b"6,%d,%d,-;message %d\n SUBSYSTEM=pci\n" % (n, 1_000_000 + n, n) for n in range(low, high)]


@pytest.fixture
def ring(monkeypatch, tmp_path):
    return Ring(monkeypatch, tmp_path / "kmsg")


def opened(ring: Ring, tmp_path: Path, positions: Positions) -> Kmsg:
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("one\n")
    ring.descriptors.clear()
    reader = Kmsg(HostRoot(tmp_path), positions, Flood(), str(tmp_path / "kmsg"))
    ring.descriptors.add(reader._descriptor)
    return reader


def test_records_become_the_lines_of_dmesg(ring, tmp_path):
    reader = opened(ring, tmp_path, Positions(None))
    ring.say(5, 8)
    (item,) = reader.read(now())
    assert item.data == b"".join(b"[    1.%06d] message %d\n" % (n, n) for n in (5, 6, 7))
    assert (item.path, item.fresh, item.line) == ("host:/dev/kmsg", True, 1)
    assert reader.read(now()) == [] and reader.reports() is None
    reader.close()


def test_an_overrun_is_counted_exactly(ring, tmp_path):
    reader = opened(ring, tmp_path, Positions(None))
    ring.say(0, 3)
    ring.next.append(errno.EPIPE)
    ring.say(103, 105)
    first, second = reader.read(now())
    assert (first.dropped, second.dropped, second.data.count(b"\n")) == (0, 100, 2)
    assert "100 messages were overwritten" in reader.reports()[0].reason and reader.reports() is None
    ring.next.append(errno.EIO)
    with pytest.raises(Broken, match="input/output error"):
        reader.read(now())
    reader.close()


def test_after_a_restart_it_goes_on_where_it_was_in_the_same_boot(ring, tmp_path):
    positions = Positions(None)
    reader = opened(ring, tmp_path, positions)
    ring.say(10, 20)
    reader.read(now())
    reader.close()
    reader = opened(ring, tmp_path, positions)
    ring.say(15, 22)  # the ring always begins with its oldest record
    (item,) = reader.read(now())
    assert item.data.count(b"\n") == 2 and item.fresh and item.line == 11
    reader.close()
    reader = opened(ring, tmp_path, positions)
    ring.say(30, 31)  # while we were down, records were overwritten
    (item,) = reader.read(now())
    assert (item.dropped, item.line, reader._lost) == (8, 13, 8)
    reader.close()
    positions.values["kmsg"][0] = "another boot"
    reader = opened(ring, tmp_path, positions)
    ring.say(0, 2)
    (item,) = reader.read(now())
    assert (item.data.count(b"\n"), item.line) == (2, 1)
    reader.close()


def test_a_ring_that_never_ends_is_read_in_turns(ring, tmp_path):
    reader = opened(ring, tmp_path, Positions(None))
    ring.say(0, 10_000)
    sizes = [sum(item.data.count(b"\n") for item in reader.read(now())) for _ in range(4)]
    assert sizes == [4000, 4000, 2000, 0]
    reader.close()


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="/dev/kmsg may not be read")
def test_the_ring_of_this_machine(tmp_path):
    source = KernelLog(HostRoot("/"), state=tmp_path / "kernel.json")
    delivery = source.poll(now())
    assert delivery.appended[0].path == "host:/dev/kmsg" and delivery.appended[0].fresh
    total = sum(item.data.count(b"\n") for item in delivery.appended)
    assert total > 3 and source.descriptors()
    source.close()
    source = KernelLog(HostRoot("/"), state=tmp_path / "kernel.json")
    again = source.poll(now())
    assert sum(item.data.count(b"\n") for item in again.appended) < total
    source.close()


@pytest.fixture
def host(tmp_path):
    root = tmp_path / "host"
    (root / "var/log").mkdir(parents=True)
    (root / "usr/bin").mkdir(parents=True)
    (root / DRILL_MARKER).write_text(json.dumps({"pid": os.getpid()}))
    for place in (root, root / DRILL_MARKER):
        place.chmod(0o755 if place.is_dir() else 0o600)
    return root


def tool(host: Path, name: str, body: str) -> None:
    place = host / "usr/bin" / name
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)


def gathered(source, count: int, seconds: float = 15.0) -> list[bytes]:
    """Polls until so many lines came; Absent and Broken are retried, as the runner does."""
    deadline, found = time.monotonic() + seconds, []
    while sum(data.count(b"\n") for data in found) < count:
        assert time.monotonic() < deadline, found
        try:
            delivery = source.poll(now())
        except (Absent, Broken):
            delivery = None
        found += [item.data for item in delivery.appended] if delivery is not None else []
        time.sleep(0.02)
    return b"".join(found).splitlines()


def test_files_of_a_host_below_a_directory(host):
    (host / "var/log/syslog").write_bytes(b"Jan  1 00:00:00 h kernel: one\n")
    (host / "var/log/kern.log").write_bytes(b"Jan  1 00:00:00 h kernel: one\n")
    source = KernelLog(HostRoot(host))
    (item,) = source.poll(now()).appended
    assert item.path == "host:/var/log/kern.log"
    with (host / "var/log/kern.log").open("ab") as handle:
        handle.write(b"Jan  1 00:00:01 h kernel: two\n")
    assert gathered(source, 1) == [b"Jan  1 00:00:01 h kernel: two"]
    (host / "var/log/kern.log").unlink()
    (host / "var/log/syslog").unlink()
    with pytest.raises(Absent, match="the kernel log cannot be read"):
        for second in range(0, 60, 2):
            source.poll(now(second))
    (host / "var/log/messages").write_bytes(b"Jan  1 00:00:02 h kernel: three\n")
    assert gathered(source, 1) == [b"Jan  1 00:00:02 h kernel: three"]
    source.close()


def test_dmesg_where_there_is_no_file(host, tmp_path, monkeypatch):
    monkeypatch.setattr(dmesg, "SETTLES", 0.3)
    state = tmp_path / "kernel.json"
    tool(host, "dmesg", 'cat "$(dirname "$0")/ring"; exec sleep 60')
    (host / "usr/bin/ring").write_bytes(b"[ 1.0] one\n[ 2.0] two\n")
    source = KernelLog(HostRoot(host), state=state)
    assert gathered(source, 2) == [b"[ 1.0] one", b"[ 2.0] two"]
    source.close()
    (host / "usr/bin/ring").write_bytes(b"[ 1.0] one\n[ 2.0] two\n[ 3.0] three\n")
    source = KernelLog(HostRoot(host), state=state)
    assert gathered(source, 1) == [b"[ 3.0] three"]
    source.close()
    (host / "usr/bin/ring").write_bytes(b"[ 0.5] another boot\n")
    source = KernelLog(HostRoot(host), state=state)
    assert gathered(source, 1) == [b"[ 0.5] another boot"]
    source.close()


def test_dmesg_that_may_not_read_is_said(host):
    tool(host, "dmesg", "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1")
    source = KernelLog(HostRoot(host))
    deadline = time.monotonic() + 10
    with pytest.raises((Absent, Broken), match="Operation not permitted"):
        while time.monotonic() < deadline:
            source.poll(now())
            time.sleep(0.02)
    source.close()


def entry(number: int, **more) -> str:
    return json.dumps({
        "__CURSOR": f"s=1;i={number}", "__REALTIME_TIMESTAMP": str(1_636_763_065_000_000 + number * 1_000_000), "_HOSTNAME": "ip-10",
        "SYSLOG_IDENTIFIER": "neuron-rtd", "_PID": "32446", "MESSAGE": f"nrtd[32446]: [NRTD:x] message {number}", **more,
    })  # fmt: skip


def test_the_journal_of_neuron_rtd_goes_on_behind_its_cursor(host, tmp_path):
    state = tmp_path / "rtd.json"
    source = Journal(HostRoot(host), state=state)
    with pytest.raises(Absent, match=r"Neuron 1\.x"):
        source.poll(now())
    (host / "opt/aws/neuron/bin").mkdir(parents=True)
    (host / "opt/aws/neuron/bin/neuron-rtd").touch()
    with pytest.raises(Absent, match="not installed"):
        source.poll(now())
    bytes_message = entry(2, MESSAGE=list(b"caf\xe9\nsecond"))
    script = f"""
echo "$@" >> "$(dirname "$0")/asked"
case "$*" in *--after-cursor=s=1\\;i=2*) echo '{entry(3)}';; *) printf '%s\\n' '{entry(1)}' 'no json' '{bytes_message}';; esac
exec sleep 60"""
    tool(host, "journalctl", script)
    lines = gathered(source, 2)
    assert lines[0] == b"2021-11-13T00:24:26+0000 ip-10 neuron-rtd[32446]: nrtd[32446]: [NRTD:x] message 1"
    assert lines[1].decode().endswith("neuron-rtd[32446]: caf\ufffd second")
    source.close()
    source = Journal(HostRoot(host), state=state)
    assert gathered(source, 1)[0].endswith(b"message 3")
    source.close()
    asked = (host / "usr/bin/asked").read_text()
    assert "-u neuron-rtd.service" in asked and "--after-cursor=s=1;i=2" in asked


def test_a_cursor_that_is_refused_is_forgotten(host):
    tool(
        host,
        "journalctl",
        f"""
case "$*" in *cursor*) echo 'Failed to seek to cursor: Invalid argument' >&2; exit 1;; esac
echo '{entry(7)}'; exec sleep 60""",
    )
    positions = Positions(None)
    positions.values["x"] = "s=0"
    reader = journal_reader.JournalReader(HostRoot(host), ["-k"], positions, "x")
    deadline, lines = time.monotonic() + 15, []
    while not lines and time.monotonic() < deadline:
        try:
            lines = reader.lines()
        except Broken as error:
            assert "cursor" in str(error)
        time.sleep(0.05)
    assert lines and positions.values["x"] == "s=1;i=7"
    reader.close()


def test_an_empty_journal_of_the_kernel_is_none(host, monkeypatch):
    monkeypatch.setattr(journal_reader, "PATIENCE", 0.2)
    tool(host, "journalctl", "exec sleep 60")
    reader = journal_reader.JournalReader(HostRoot(host), ["-k"], Positions(None), "x", never_empty=True)
    deadline = time.monotonic() + 10
    with pytest.raises(Absent, match="no entry"):
        while time.monotonic() < deadline:
            assert reader.lines() == []
            time.sleep(0.02)
    reader.close()


def test_a_journal_that_dies_comes_again(host):
    tool(host, "journalctl", f"echo '{entry(1)}'; kill -9 $$")
    (host / "opt/aws/neuron/bin").mkdir(parents=True)
    (host / "opt/aws/neuron/bin/neuron-rtd").touch()
    source = Journal(HostRoot(host))
    assert gathered(source, 1)
    with pytest.raises(Broken, match="killed by signal 9"):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            source.poll(now())
            time.sleep(0.02)
    tool(host, "journalctl", f"echo '{entry(2)}'; exec sleep 60")
    assert gathered(source, 1)[0].endswith(b"message 2")
    source.close()
