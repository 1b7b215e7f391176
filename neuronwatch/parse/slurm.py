"""Slurm: step and job endings (`slurmstepd: error: ...`, `srun: error: ...`), sacct and scontrol, sbatch headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.one_value import signal_name

_STATES = (
    r"(?:COMPLETED|FAILED|CANCELLED(?: by [0-9]{1,8})?|TIMEOUT|OUT_OF_ME(?:MORY|\+)?|NODE_FAIL|PREEMPTED|"
    r"RUNNING|PENDING|REQUEUED|BOOT_FAIL)"
)
_SACCT_HEAD = lazy(r"^\s{0,4}(?:JobID|JobIDRaw)\s.{0,200}\b(?:State|ExitCode)\b")
_STATE = lazy(r"\b(" + _STATES + r")\b\+?")
_EXIT = lazy(r"\b([0-9]{1,3}):([0-9]{1,3})\s{0,8}$")
_SCONTROL = lazy(r"\bJobState=([A-Z_]{4,20})(?: Reason=(\w{1,40}))?")
_NODES = lazy(r"\b(?:NumNodes|NNodes|SLURM_NNODES)=([0-9]{1,5})\b|^#SBATCH (?:--nodes[= ]|-N ?)([0-9]{1,5})\b")
_TASK = lazy(r"srun: error: (\S{1,80}): tasks? ([0-9,\-\[\]]{1,80}): (.{0,120})")
_TASK_EXIT = lazy(r"Exited with exit code ([0-9]{1,3})")
_TASK_SIGNAL = lazy(r"(Killed|Aborted|Segmentation fault|Bus error|Terminated|Out Of Memory)")
_SIGNALS = {
    "Killed": "SIGKILL",
    "Aborted": "SIGABRT",
    "Segmentation fault": "SIGSEGV",
    "Bus error": "SIGBUS",
    "Terminated": "SIGTERM",
    "Out Of Memory": "SIGKILL",
}
_REASONS = (
    (lazy(r"slurmstepd: error: .{0,120}(?:oom[-_ ]?kill|memory limit)", re.I), "OUT_OF_MEMORY"),
    (lazy(r"(?:CANCELLED AT|\*\*\*).{0,120}DUE TO TIME LIMIT"), "TIME LIMIT"),
    (lazy(r"DUE TO NODE FAILURE|Node failure on |NODE_FAIL"), "NODE_FAIL"),
    (lazy(r"DUE TO PREEMPTION"), "PREEMPTED"),
    (lazy(r"\*\*\* (?:STEP|JOB) \S{1,40} ON \S{1,80} CANCELLED AT"), "CANCELLED"),
)


def _job(line: Line) -> Iterator[Record]:
    for pattern, reason in _REASONS:
        if pattern.search(line.body):
            yield fact(line, "slurm.reason", reason)
            break
    control = _SCONTROL.search(line.body)
    if control:
        yield fact(line, "slurm.state", control.group(1))
        if control.group(2) and control.group(2) != "None":
            yield fact(line, "slurm.reason", control.group(2))
    nodes = _NODES.search(line.body)
    if nodes:
        yield fact(line, "slurm.nodes", int(nodes.group(1) or nodes.group(2)))
    task = _TASK.search(line.body)
    if task:
        code, signal = _TASK_EXIT.search(task.group(3)), _TASK_SIGNAL.search(task.group(3))
        number = int(code.group(1)) if code else None
        name = _SIGNALS[signal.group(1)] if signal else signal_name(number or 0)
        yield Event(
            "process.exit",
            line.origin,
            {"code": number, "signal": name, "host": task.group(1), "tasks": task.group(2)},
            f"host{task.group(1)}",
            line.time,
        )
        if number is not None:
            yield fact(line, "process.exit_code", number)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    table = False
    for line in lines:
        yield from _job(line)
        if _SACCT_HEAD.match(line.body):
            table = True
            continue
        if not table or re.match(r"^[\s\-]{5,300}$", line.body):
            continue
        state = _STATE.search(line.body)
        table = bool(state)
        if state:
            name = state.group(1).split(" ", 1)[0].rstrip("+")
            yield fact(line, "slurm.state", "OUT_OF_MEMORY" if name.startswith("OUT_OF_ME") else name)
            code = _EXIT.search(line.body)
            status, signal = (int(code.group(1)), int(code.group(2))) if code else (0, 0)
            if status or 0 < signal <= 64:  # Slurm writes 0:125 for "out of memory", which is no signal
                yield fact(line, "process.exit_code", status or 128 + signal)


FORMAT = LineFormat(
    name="slurm",
    kind="log",
    triggers=(
        r"slurmstepd: error:",
        r"srun: error: ",
        r"JobState=[A-Z]",
        r"CANCELLED AT",
        r"DUE TO (?:TIME LIMIT|NODE FAILURE|PREEMPTION)",
        r"JobID(?:Raw)?\s.{0,200}\b(?:State|ExitCode)\b",
        r"#SBATCH ",
        r"(?:NumNodes|SLURM_NNODES)=[0-9]",
    ),
    parse=_parse,
    after=40,
)
