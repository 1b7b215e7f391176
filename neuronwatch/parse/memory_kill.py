"""Who else says that a process was killed for host memory: systemd and systemd-oomd, Slurm, LSF, Ray, ECS, containerd.

The kernel's own lines have their parser (`kernel_log`); these are the managers above it, often the only trace that is left
in a journal or a job's output. Each line is one reading of `host.cgroup_oom_kills`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

_TRIGGERS = (
    r"process of this unit has been killed by the OOM killer",
    r"Failed with result 'oom-kill'",
    r"\(Result: oom-kill\)",
    r"systemd-oomd\[\d{1,10}\]: Killed ",
    r"sending SIG(?:TERM|KILL) to process \d{1,10} .{0,200}oom_score",
    r"Detected \d{1,6} oom[-_ ]?kill event",
    r"killed by the cgroup out-of-memory handler",
    r"tasks? [\d,-]{1,40}: Out Of Memory",
    r"Exceeded (?:job|step) memory limit",
    r"TERM_MEMLIMIT: ",
    r"OutOfMemoryError: Container killed due to memory usage",
    r"killed due to the node running low on memory",
    r"[Ww]orkers \(tasks / actors\) killed due to memory pressure",
    r"/tasks/oom\b",
    r"\bTaskOOM\b",
)
_KILL = lazy("|".join(_TRIGGERS))
_COUNT = lazy(r"Detected (\d{1,6}) oom")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        if not _KILL.search(line.text[:20_000]):
            continue
        count = _COUNT.search(line.text[:20_000])
        kills = int(count.group(1)) if count else 1
        if kills:
            yield fact(line, "host.cgroup_oom_kills", kills)


FORMAT = LineFormat(name="memory-kill", kind="log", triggers=_TRIGGERS, parse=_parse)
