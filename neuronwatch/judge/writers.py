"""Who writes a followed text: its processes and the beginnings of its runs, so that evidence of a run that is over can end.

A log does not say "this run is over". It shows that another process writes now, or that a start banner came again; and the
host says whether a process that wrote a line still lives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from neuronwatch.judge.evidence import Evidence, Match, Provisional, Window
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.parse.api import Line

MAX_PIDS = 256
MAX_STARTS = 16
SILENT = 60.0
"""Seconds of silence of a run's processes after which a new writer is a new run; also the age that a condition reaches at least."""
APART = 20.0
"""Seconds between two start banners of two runs; the ranks of one run print theirs closer together."""
SILENT_FOR_GOOD = 86_400.0
"""A text that is silent for so long belongs to no run any more."""
HOST_LOGS = frozenset(("kernel-log",))
"""Formats of logs that no run writes: their lines end by themselves only."""
_OWN = (
    re.compile(r"^\S{8,14} ?\S{6,18}\s{1,6}(\d{1,7}):\d{1,7}\s{1,6}[A-Z]{4,8}\s"),  # 2024-Apr-05 11:41:02.0111   32:32    ERROR
    re.compile(r"\bStarted (?:server|parent) process \[(\d{1,7})\]"),
    re.compile(r"\([\w .-]{0,40}pid[=:] ?(\d{1,7})[,)]"),
    re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}\] \[(\d{1,7})\] \[[A-Z]{4,8}\] "),  # gunicorn
)
_GLOG = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{3,9}\s{1,6}(\d{1,7}) \S")
_SYSLOG = re.compile(r"^(?:\w{3}\s{1,2}\d{1,2} [\d:.]{8,15}|\d{4}-\d\d-\d\dT\S{8,28}) [\w.-]{1,80} [\w./@-]{1,60}\[(\d{1,7})\]: ")
"""Of a log that many programs write: such a process speaks for its own lines only."""
_START = re.compile(
    r"\*{3,8} Running training \*{3,8}|vLLM API server version|Started server process \["
    r"|Uvicorn running on|Neuron RT .{0,40}(?:initializ|version)|NRT:nrt_init\b"
    r"|Setting OMP_NUM_THREADS environment variable for each process"  # torchrun, before anything of the script
)

_DRIVER = re.compile(r"Neuron Driver Started with Version|\bLinux version \d{1,2}\.\d{1,3}\.")


def pid_of(text: str) -> int | None:
    """The process that wrote a line, where the line names it."""
    head = text[:400]
    found = next((found for pattern in (*_OWN, _GLOG) if (found := pattern.search(head))), None) or _SYSLOG.search(head)
    return int(found.group(1)) if found else None


@dataclass
class _Process:
    """First and last line, and when (watch's clock) each came."""

    first: int
    last: int
    began: float
    spoke: float
    lived: bool = False
    """Whether the host was seen to have it: processes of a container may have other numbers there."""


@dataclass
class Writers:
    """Of one followed text. A line may be told several times, when what it stands in goes on; only the first time counts.
    `spoke`: when the text last gained anything. `shift` when it begins anew under its path."""

    processes: dict[int, _Process] = field(default_factory=dict)
    starts: list[tuple[str, int, float]] = field(default_factory=list)
    """Kind, line and time of start banners, the latest last."""
    newest: int = 0
    spoke: float = 0.0
    of_host: bool = False
    """Whether the text belongs to no run."""
    retired: int | None = None
    """Up to this line everything is forgotten."""
    driver: tuple[int, float] | None = None
    """Line and time of the latest start of the driver, or of the kernel."""

    def line(self, text: str, number: int, mono: float) -> None:
        self.newest = max(self.newest, number)
        if "ersion" in text and _DRIVER.search(text[:400]) and (self.driver is None or number > self.driver[0]):
            self.driver = (number, mono)
        if self.of_host:
            return
        pid = None if _SYSLOG.search(text[:400]) else pid_of(text)
        if pid is not None:
            known = self.processes.get(pid)
            if known is not None:
                known.first = min(known.first, number)
                if number > known.last:
                    known.last, known.spoke = number, mono
            else:
                self.processes[pid] = _Process(number, number, mono, mono)
                if len(self.processes) > MAX_PIDS:
                    del self.processes[min(self.processes, key=lambda item: self.processes[item].spoke)]
        start = _START.search(text[:400])
        if start:
            kind = start.group()
            latest = next((item for item in reversed(self.starts) if item[0] == kind), None)
            if latest is None or (number > latest[1] and mono - latest[2] >= APART):
                self.starts = [*self.starts[-MAX_STARTS:], (kind, number, mono)]

    def shift(self, by: int) -> None:
        for process in self.processes.values():
            process.first -= by
            process.last -= by
        self.starts = [(kind, number - by, mono) for kind, number, mono in self.starts]
        self.retired = None if self.retired is None else self.retired - by
        if self.driver is not None:
            self.driver = (self.driver[0] - by, self.driver[1])
        self.newest = 0

    def older_run(self, mono: float) -> int | None:
        """The last line of runs before the current one, None where there was none."""
        found = None
        for process in self.processes.values():
            older = [other for other in self.processes.values() if other.last < process.first]
            spanning = any(other.first < process.first <= other.last for other in self.processes.values())
            if older and not spanning and all(mono - other.spoke >= SILENT for other in older):
                last = max(other.last for other in older)
                found = last if found is None else max(found, last)
        for place, (kind, line, came) in enumerate(self.starts):
            if any(other == kind and came - earlier >= APART for other, _, earlier in self.starts[:place]):
                found = max(line - 1, line - 1 if found is None else found)
        return found if found is not None and (self.retired is None or found > self.retired) else None

    def all_ended(self, alive: Mapping[int, float] | None, mono: float) -> bool:
        """Whether all processes that wrote were seen alive and are gone, and the text is silent."""
        if alive is None or not self.processes:
            return False
        for pid, process in self.processes.items():
            process.lived = process.lived or pid in alive
        gone = all(process.lived and pid not in alive for pid, process in self.processes.items())
        return gone and mono - self.spoke >= SILENT

    def retire(self, until: int) -> None:
        """Forgets the processes and start banners of the lines up to `until`, but for the latest banner of each kind: the next
        one is another run only beside it."""
        self.processes = {pid: process for pid, process in self.processes.items() if process.last > until}
        latest = {kind: (kind, line, came) for kind, line, came in self.starts if line <= until}
        self.starts = [*latest.values(), *(item for item in self.starts if item[1] > until)]
        self.retired = until

    def silent(self, pids: frozenset[int], mono: float) -> bool:
        """Whether none of these processes wrote a line of late."""
        return all(mono - self.processes[pid].spoke >= SILENT for pid in pids if pid in self.processes)

    def at(self, number: int) -> frozenset[int]:
        """The processes that had written when the line `number` came, without those of earlier runs."""
        return frozenset(
            pid for pid, process in self.processes.items()
            if process.first <= number and not any(other.first > process.last and other.first <= number
                                                   and other.began - process.spoke >= SILENT
                                                   for other in self.processes.values())
        )  # fmt: skip

    def began_anew(self, number: int, pids: frozenset[int], mono: float) -> tuple[int, float] | None:
        """The first line of a run after the one that wrote line `number`, and when it came; None: there is none. `pids`: the
        processes of that run."""
        if pids:
            old = [self.processes[pid] for pid in pids if pid in self.processes]
            silent = max((process.last for process in old), default=number)
            later = [item for pid, item in self.processes.items() if pid not in pids and item.first > max(silent, number)]
            if later and all(mono - process.spoke >= SILENT for process in old):
                first = min(later, key=lambda process: process.first)
                return first.first, first.began
        for kind, line, came in reversed(self.starts):
            before = [item for item in self.starts if item[0] == kind and item[1] < line]
            if line > number and before and came - before[-1][2] >= APART:
                return line, came
        return None


def all_gone(pids: frozenset[int], alive: Mapping[int, float] | None, written: float) -> bool:
    """Whether none of the processes lives. `alive`: pid to start (seconds since the epoch, 0 unknown), None where nobody
    looks; a process that began after the line was `written` is another one with the same pid."""
    if alive is None or not pids:
        return False
    return not any(pid in alive and alive[pid] <= written + 1 for pid in pids)


def note_lines(writers: Writers, item: Evidence, mono: float) -> None:
    """Tells `writers` all lines of an item."""
    if isinstance(item, Provisional):
        for inner in item.items:
            note_lines(writers, inner, mono)
        return
    lines: Sequence[Line] = (item.line,) if isinstance(item, Match) else item.lines if isinstance(item, Window) else ()
    for line in lines:
        if line.number is not None:
            writers.line(line.text, line.number, mono)
