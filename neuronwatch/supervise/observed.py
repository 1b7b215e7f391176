"""What a monitor says of a run, and the same as JSON between its process and the owner."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, NamedTuple

from neuronwatch.judge.detectors.hang import Stall
from neuronwatch.model import plain
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Progress

_FIELDS = tuple(item.name for item in fields(Progress))


class Observed(NamedTuple):
    """`findings`: what is wrong now, best answer first; `ended`: rules of findings that hold no more since the time before.
    `stopped`: pids of the run that are stopped (SIGSTOP, a debugger)."""

    progress: Progress = Progress()
    findings: tuple[Finding, ...] = ()
    ended: tuple[str, ...] = ()
    stall: Stall | None = None
    stopped: tuple[int, ...] = ()


def document(observed: Observed) -> dict[str, Any]:
    return {
        "progress": asdict(observed.progress),
        "findings": [plain.of_finding(item) for item in observed.findings],
        "ended": list(observed.ended),
        "stall": None if observed.stall is None else list(observed.stall),
        "stopped": list(observed.stopped),
    }


def of_document(told: Any) -> Observed:
    """Raises ValueError for what is none."""
    try:
        progress = Progress(**{name: told["progress"][name] for name in _FIELDS if name in told["progress"]})
        stall = None if told["stall"] is None else Stall(*told["stall"])
        findings = tuple(map(plain.to_finding, told["findings"]))
        return Observed(progress, findings, tuple(map(str, told["ended"])), stall, tuple(map(int, told["stopped"])))
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(str(error)) from error
