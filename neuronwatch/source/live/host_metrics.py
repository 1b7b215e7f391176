"""The host itself, each second: CPU, memory, swap, load, pressure, network, disks. Numbers only; where one crosses what a rule
can see (memory runs short, a file system is full), the source of the host's facts is told to look again."""

from __future__ import annotations

import os
import re

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import system
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Pace
from neuronwatch.source.live.signal_pipe import SignalPipe

DISKS = 10.0
"""Seconds between looks at how full file systems are,"""
AVERAGES, EARLY = 5.0, 0.5
"""and at averages of load and pressure, which may be a little early, since a poll may be."""
RENEWED = 60.0
SECTOR = 512
_WHOLE_DISK = re.compile(rb"(?:nvme\d+n\d+|[svh]d[a-z]+|xvd[a-z]+)\Z")
_PRESSURE = re.compile(rb"some avg10=(\d{1,3}\.\d{1,2}) ")
_LOAD = re.compile(rb"(\d{1,7}\.\d{1,4}) ")
_NO_INTERFACE = re.compile(rb"\s*(?:lo|docker|veth|br-|cni|virbr)")


class HostMetrics:
    name = "host"
    budget = 10.0
    interval = 1.0
    mandatory = False
    blocking = True

    def __init__(self, root: HostRoot, again: SignalPipe) -> None:
        self._root = root
        self._again = again
        self._before: dict[str, tuple[float, float]] = {}
        """metric -> monotonic time and count, for rates."""
        self._cpu: tuple[float, float] | None = None
        self._coarse: object = None
        self._full: tuple[str, ...] = ()
        self._seen: object = None
        self._pace = Pace()
        self._due = self._averages_due = self._renewed = float("-inf")
        self._places: dict[str, str] = {}
        """Where a name of /proc leads."""

    def poll(self, now: Now) -> Delivery:
        found: list[Reading] = []
        wrong: list[str] = []
        for part in (self._processors, self._memory, self._network, self._disks, self._load):
            try:
                found += part(now.mono)
            except (ValueError, IndexError, OverflowError) as error:  # a file of another form
                wrong.append(f"{part.__name__.strip('_')}: {error}")
        if self._root.live and now.mono >= self._due:
            self._due = now.mono + DISKS
            found += self._space()
        self._tell(now.mono)
        delivery = Delivery(self.name, now.wall, found)
        if wrong:
            raise Broken("; ".join(wrong)[:250], delivery)
        if not found:
            raise Absent("nothing of /proc can be read" if self._root.exists("/proc") else "there is no /proc", delivery)
        return delivery

    def _read(self, name: str, now: float, limit: int = 64 * 1024) -> bytes:
        """The bytes of a file of /proc, none where it is not there: a kernel without it. Where its name leads (/proc/net is a link)
        is asked again each minute."""
        if now >= self._renewed:
            self._renewed = now + RENEWED
            self._places.clear()
        place = self._places.get(name)
        if place is None:
            place = self._root.real(f"/proc/{name}")
            if place is None:
                return b""
            self._places[name] = place
        return self._root.read_at(place, limit) or b""

    def _processors(self, now: float) -> list[Reading]:
        data = self._read("stat", now, 4096)
        if not data:
            return []
        name, *fields = data[: data.find(b"\n")].split()
        ticks = list(map(int, fields[:8]))  # guests, which follow, are in user and nice
        if name != b"cpu" or len(ticks) < 4:
            raise ValueError(f"no line of all processors: {data[:40]!r}")
        waiting, total = sum(ticks[3:5]), sum(ticks)
        before, self._cpu = self._cpu, (total, waiting)
        if before is None or total <= before[0]:
            return []
        return [Reading("host.cpu", "", max(0.0, min(100.0, 100.0 * (1 - (waiting - before[1]) / (total - before[0])))))]

    def _memory(self, now: float) -> list[Reading]:
        data = self._read("meminfo", now)
        total = _bytes(data, b"MemTotal:") if data else None
        if total is None:
            if data:
                raise ValueError(f"no total of memory: {data[:40]!r}")
            return []
        available = _bytes(data, b"MemAvailable:")
        if available is None:  # before Linux 3.14
            available = sum(_bytes(data, name) or 0.0 for name in (b"MemFree:", b"\nBuffers:", b"\nCached:"))
        self._coarse = (available < 2_000_000_000, max(int(available), 1).bit_length())
        found = [
            Reading("host.memory.total", "", total),
            Reading("host.memory.available", "", available),
            Reading("host.memory.used", "", total - available),
        ]
        swap, free = _bytes(data, b"SwapTotal:"), _bytes(data, b"SwapFree:")
        if swap is not None and free is not None:
            found.append(Reading("host.swap.used", "", swap - free))
        return found

    def _network(self, now: float) -> list[Reading]:
        received = sent = errors = 0
        seen = False
        for row in self._read("net/dev", now).splitlines()[2:]:
            name, _, rest = row.rpartition(b":")
            if not _NO_INTERFACE.match(name):
                fields = rest.split()
                seen = True
                received += int(fields[0])
                sent += int(fields[8])
                errors += sum(map(int, (*fields[2:4], *fields[10:12])))
        if not seen:
            return []
        return [
            *self._rate("host.network.receive", float(received), now),
            *self._rate("host.network.transmit", float(sent), now),
            Reading("host.network.errors", "", float(errors)),
        ]

    def _disks(self, now: float) -> list[Reading]:
        read = written = 0
        seen = False
        for row in self._read("diskstats", now, 1 << 20).splitlines():
            fields = row.split(None, 10)
            if len(fields) > 10 and _WHOLE_DISK.match(fields[2]):
                seen = True
                read += int(fields[5])
                written += int(fields[9])
        if not seen:
            return []
        return [
            *self._rate("host.disk.read", float(read * SECTOR), now),
            *self._rate("host.disk.write", float(written * SECTOR), now),
        ]

    def _load(self, now: float) -> list[Reading]:
        """Averages, which the kernel itself renews each two and five seconds."""
        if now < self._averages_due:
            return []
        self._averages_due = now + AVERAGES - EARLY
        found = []
        load = _LOAD.match(self._read("loadavg", now, 256))
        if load:
            found.append(Reading("host.load", "", float(load.group(1))))
        for name in ("cpu", "memory", "io"):
            some = _PRESSURE.match(self._read(f"pressure/{name}", now, 1024))
            if some:
                found.append(Reading(f"host.pressure.{name}", "", float(some.group(1))))
        return found

    def _rate(self, metric: str, count: float, now: float) -> list[Reading]:
        """What was added each second since the last time; nothing at first, and where a counter began anew."""
        before = self._before.get(metric)
        self._before[metric] = (now, count)
        if before is None or now <= before[0] or count < before[1]:
            return []
        return [Reading(metric, "", (count - before[1]) / (now - before[0]))]

    def _space(self) -> list[Reading]:
        """How full the fullest file system is."""
        used: list[float] = []
        full = []
        for point, _ in system.file_systems(self._root):
            try:
                state = os.statvfs(point)
            except (OSError, AttributeError, ValueError):
                continue
            room = state.f_blocks - state.f_bfree + state.f_bavail
            if room > 0:
                used.append(100.0 * (state.f_blocks - state.f_bfree) / room)
            if system.is_full(state):
                full.append(point)
        self._full = tuple(full)
        return [Reading("host.disk.used", "", max(used))] if used else []

    def _tell(self, now: float) -> None:
        seen = (self._coarse, self._full)
        if self._seen is None:
            self._seen = seen
        elif seen != self._seen and self._pace.free(now):
            self._pace.sent(now)
            self._seen = seen
            self._again.set()

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        pass


def _bytes(data: bytes, name: bytes) -> float | None:
    """A value of meminfo in bytes, None where it is not there."""
    at = data.find(name)
    return None if at < 0 else 1024.0 * int(data[at + len(name) : data.find(b"k", at + len(name))])
