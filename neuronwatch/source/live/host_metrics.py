"""The host itself, each second: CPU, memory, swap, load, pressure, network, disks. Numbers only; where one crosses what a rule
can see (memory runs short, a file system is full), the source of the host's facts is told to look again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import system
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Pace
from neuronwatch.source.live.procfs import procfs
from neuronwatch.source.live.signal_pipe import SignalPipe

DISKS = 10.0
"""Seconds between looks at how full file systems are."""
SECTOR = 512
_WHOLE_DISK = re.compile(r"^(?:nvme\d+n\d+|[svh]d[a-z]+|xvd[a-z]+)$")
_PRESSURE = re.compile(r"^some avg10=(\d{1,3}\.\d{1,2}) ", re.M)
_NO_INTERFACE = re.compile(r"^(?:lo|docker|veth|br-|cni|virbr)")


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
        self._due = float("-inf")

    def poll(self, now: Now) -> Delivery:
        if not self._root.exists("/proc"):
            raise Absent("there is no /proc")
        found: list[Reading] = []
        wrong: list[str] = []
        with procfs(self._root) as psutil:
            parts: tuple[Callable[[Any, float], list[Reading]], ...] = (
                self._processors, self._memory, self._network, self._disks, self._load,
            )  # fmt: skip
            for part in parts:
                try:
                    found += part(psutil, now.mono)
                except FileNotFoundError:
                    continue  # a kernel without it: absent
                except Exception as error:  # psutil raises whatever a file of another form makes of its parser
                    wrong.append(f"{part.__name__.strip('_')}: {type(error).__name__}: {error}")
        if self._root.live and now.mono >= self._due:
            self._due = now.mono + DISKS
            found += self._space()
        self._tell(now.mono)
        delivery = Delivery(self.name, now.wall, found)
        if wrong:
            raise Broken("; ".join(wrong)[:250], delivery)
        if not found:
            raise Absent("nothing of /proc can be read", delivery)
        return delivery

    def _processors(self, psutil: Any, now: float) -> list[Reading]:
        times = psutil.cpu_times()
        waiting = times.idle + getattr(times, "iowait", 0.0)
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)  # both are in user and nice
        before, self._cpu = self._cpu, (total, waiting)
        if before is None or total <= before[0]:
            return []
        return [Reading("host.cpu", "", max(0.0, min(100.0, 100.0 * (1 - (waiting - before[1]) / (total - before[0])))))]

    def _memory(self, psutil: Any, now: float) -> list[Reading]:
        memory = psutil.virtual_memory()
        self._coarse = (memory.available < 2_000_000_000, max(memory.available, 1).bit_length())
        found = [
            Reading("host.memory.total", "", float(memory.total)),
            Reading("host.memory.available", "", float(memory.available)),
            Reading("host.memory.used", "", float(memory.total - memory.available)),
        ]
        fields = dict(re.findall(r"(?m)^(Swap\w+): +(\d+) kB$", self._root.text("/proc/meminfo") or ""))
        if "SwapTotal" in fields and "SwapFree" in fields:
            found.append(Reading("host.swap.used", "", 1024.0 * (int(fields["SwapTotal"]) - int(fields["SwapFree"]))))
        return found

    def _network(self, psutil: Any, now: float) -> list[Reading]:
        counters = [item for name, item in psutil.net_io_counters(pernic=True).items() if not _NO_INTERFACE.match(name)]
        if not counters:
            return []
        return [
            *self._rate("host.network.receive", float(sum(item.bytes_recv for item in counters)), now),
            *self._rate("host.network.transmit", float(sum(item.bytes_sent for item in counters)), now),
            Reading(
                "host.network.errors", "", float(sum(item.errin + item.errout + item.dropin + item.dropout for item in counters))
            ),
        ]

    def _disks(self, psutil: Any, now: float) -> list[Reading]:
        text = self._root.text("/proc/diskstats", 1 << 20)
        if text is None:
            return []
        rows = [row.split() for row in text.splitlines()]
        whole = [row for row in rows if len(row) >= 14 and _WHOLE_DISK.match(row[2])]
        if not whole:
            return []
        return [
            *self._rate("host.disk.read", float(sum(int(row[5]) for row in whole) * SECTOR), now),
            *self._rate("host.disk.write", float(sum(int(row[9]) for row in whole) * SECTOR), now),
        ]

    def _load(self, psutil: Any, now: float) -> list[Reading]:
        found = []
        load = re.match(r"^(\d{1,7}\.\d{1,4}) ", self._root.text("/proc/loadavg", 256) or "")
        if load:
            found.append(Reading("host.load", "", float(load.group(1))))
        for name in ("cpu", "memory", "io"):
            some = _PRESSURE.search(self._root.text(f"/proc/pressure/{name}", 1024) or "")
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
