"""Processes: who holds which device, compilers and jobs, and what they use.

Each five seconds only new processes and those of interest are looked at; all of them once a minute. The judge gets the listing
when a process of interest came, went, or changed to a state that matters, and once a minute.
"""

from __future__ import annotations

import re

from neuronwatch.model.dataclass import replace
from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import HostItem
from neuronwatch.source.host import processes as host
from neuronwatch.source.host.processes import Handle, Process
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Changes, Pace
from neuronwatch.source.live.holders import Holders

ALL = 60.0
"""Seconds between looks at all processes."""
YOUNG = 30.0
"""Seconds for which a process is looked at each time: it may still become another program, or open a device."""
MOST_GARBLED = 0.05
"""Share of processes that may have a stat of an unknown form."""
MAX_SHOWN = 256
"""Processes of interest with Readings of their own."""
INTEREST = re.compile(
    r"(?i)neuron|walrus_driver|hlo2penguin|hlo-opt|tensorizer|penguin|\btorchrun\b|\baccelerate\b|\bvllm\b|\bmpirun\b|\bmpiexec\b"
    r"|\bsrun\b|\bray(?:let)?\b|\bdeepspeed\b|\btritonserver\b|\bpython[0-9.]*\b|\btext-generation"
)
_NSPID = re.compile(r"^NSpid:((?:[ \t]+\d{1,9})+)$", re.M)


class _Seen:
    """What is known of one process: when it was seen first, `began`: a time (seconds since the epoch) before which it was not
    there, its numbers inside of containers, and its open devices (None: they may not be read)."""

    __slots__ = ("began", "first", "handles", "inner", "named", "names", "process")

    def __init__(self, process: Process, first: float, began: float, inner: tuple[int, ...]) -> None:
        self.process = process
        self.first = first
        self.began = began
        self.inner = inner
        self.handles: list[Handle] | None = []
        self.names: list[str] = []
        """All its open files, when it was last looked through."""
        self.named = bool(INTEREST.search(process.command))

    @property
    def kernel(self) -> bool:
        return self.process.command.startswith("[") and self.process.rss == 0

    @property
    def interesting(self) -> bool:
        return self.named or bool(self.handles)


class Processes:
    name = "processes"
    budget = 20.0
    interval = 5.0
    mandatory = False
    blocking = True

    def __init__(self, root: HostRoot, holders: Holders) -> None:
        self._root = root
        self._holders = holders
        self._seen: dict[int, _Seen] = {}
        self._due = float("-inf")
        self._polled = 0.0
        self._signature: object = None
        self._changes = Changes(self.name)
        self._pace = Pace()
        self._cpu: dict[int, tuple[float, float]] = {}
        """pid -> monotonic time and CPU seconds when last read."""

    def poll(self, now: Now) -> Delivery:
        proc, pids = host.process_ids(self._root)
        if not pids:
            if not self._root.exists("/proc"):
                raise Absent("there is no /proc")
            denied = self._root.why("/proc") == "permission denied"
            raise Absent("/proc: permission denied" if denied else "/proc holds no process")
        everything = now.mono >= self._due
        self._look(proc, pids, now.mono, everything)
        self._polled = now.wall
        holding = frozenset(pid for pid, seen in self._seen.items() if seen.handles)
        self._holders.are(holding)
        readings = self._readings(now.mono)
        signature = self._visible()
        if not (everything or signature != self._signature) or not self._pace.free(now.mono):
            return Delivery(self.name, now.wall, readings, alive=self._alive())
        if everything:
            self._due = now.mono + ALL
        else:
            self._pace.sent(now.mono)
        self._signature = signature
        return replace(self._changes.of(self._items(), now.wall, readings), alive=self._alive())

    def _alive(self) -> dict[int, float]:
        """The processes that live, also under their numbers inside of containers, and when they began at the earliest."""
        found: dict[int, float] = {}
        for pid, seen in self._seen.items():
            if seen.process.state not in "ZX":
                for number in (pid, *seen.inner):
                    found[number] = min(seen.began, found.get(number, seen.began))
        return found

    def _look(self, proc: str, pids: list[int], now: float, everything: bool) -> None:
        """Reads the processes that may be other than they were."""
        mine = host.own_pid(self._root)
        devices = host.has_devices(self._root)
        known = self._seen
        looked = garbled = 0
        self._seen = {}
        for pid in pids:
            seen = known.get(pid)
            if pid == mine:
                continue
            if seen is not None and not (everything and not seen.kernel) and not self._watched(seen, now):
                self._seen[pid] = seen
                continue
            looked += 1
            settled = seen is not None and not everything and now - seen.first >= YOUNG
            process = host.process(self._root, proc, pid, seen.process if seen is not None and settled else None)
            if process is None:
                garbled += self._root.exists(f"/proc/{pid}/stat")  # else it is gone
                continue
            if seen is None or (seen.process.command, seen.process.began) != (process.command, process.began):
                seen = _Seen(process, now, self._polled, self._inner(pid) if INTEREST.search(process.command) else ())
            seen.process = process
            self._seen[pid] = seen
            if devices and not seen.kernel:
                self._look_at_files(proc, seen, settled)
        if garbled > looked * MOST_GARBLED:
            self._seen = known  # they did not end: we cannot see them
            raise Broken(f"{garbled} of {looked} processes have a stat that cannot be read")

    def _look_at_files(self, proc: str, seen: _Seen, settled: bool) -> None:
        """The devices that a process has open. One that holds some, and has the same open files as before, has the same ones: a
        rank has hundreds of files, and only those of devices are looked at. Once a minute all are."""
        where = f"{proc}/{seen.process.pid}/fd"
        names = host.descriptors_of(where)
        same = settled and seen.handles and names == seen.names
        if same and all(host.device_of(where, handle.descriptor) == handle.device for handle in seen.handles or ()):
            return
        seen.names = names
        seen.handles = host.handles_of(proc, seen.process)

    def _inner(self, pid: int) -> tuple[int, ...]:
        """The numbers of a process in the namespaces below ours: the ones that its log lines carry."""
        found = _NSPID.search(self._root.text(f"/proc/{pid}/status", 8192) or "")
        return tuple(map(int, found.group(1).split()))[1:] if found else ()

    def _watched(self, seen: _Seen, now: float) -> bool:
        return not seen.kernel and (now - seen.first < YOUNG or seen.interesting)

    def _visible(self) -> object:
        """What rules see: processes of interest, their devices, and whether one is dead or stuck."""
        return [
            (pid, seen.process.command, seen.process.state in "DZ", [handle.device for handle in seen.handles or ()])
            for pid, seen in sorted(self._seen.items())
            if seen.interesting
        ]

    def _items(self) -> list[HostItem]:
        found = [seen.process for _, seen in sorted(self._seen.items())]
        handles = [handle for _, seen in sorted(self._seen.items()) for handle in seen.handles or ()]
        unseen = sum(seen.handles is None for seen in self._seen.values())
        return list(host.told(self._root, found, handles, unseen))

    def _readings(self, now: float) -> list[Reading]:
        """Memory, CPU and threads of the processes of interest; the devices that are held."""
        shown = sorted((not seen.handles, pid) for pid, seen in self._seen.items() if seen.interesting)[:MAX_SHOWN]
        found = [Reading("host.processes", "", float(len(self._seen)))]
        held = {handle.device for seen in self._seen.values() for handle in seen.handles or ()}
        if not any(seen.handles is None for seen in self._seen.values()):
            found.append(Reading("host.devices_held", "", float(len(held))))
        else:
            found.append(Reading("host.devices_held", "", None, "open files of some processes may not be read by this user"))
        cpu: dict[int, tuple[float, float]] = {}
        for _, pid in shown:
            found += self._of(pid, now, cpu)
        self._cpu = cpu
        return found

    def _of(self, pid: int, now: float, cpu: dict[int, tuple[float, float]]) -> list[Reading]:
        entity, process = f"pid{pid}", self._seen[pid].process
        found = [Reading("process.rss", entity, float(process.rss)), Reading("process.threads", entity, float(process.threads))]
        cpu[pid] = (now, process.cpu)
        before = self._cpu.get(pid)
        if before is not None and now > before[0] and process.cpu >= before[1]:
            found.append(Reading("process.cpu", entity, 100.0 * (process.cpu - before[1]) / (now - before[0])))
        return found

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        pass
