"""The story of a job from its start (or take-over) to its end: what a report tells. Built from the job's directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.model.job import Change, Exit, JobSpec, Mode
from neuronwatch.supervise.directory import JobDirectory

Curve = list[tuple[float | None, float]]
"""Points (step, value) in order."""


class Lived(NamedTuple):
    """One run. Times are seconds since the epoch; None: nobody knows."""

    number: int
    began: float | None
    ended: float | None
    exit: Exit | None
    why: str


class Remedy(NamedTuple):
    """One that was tried or proposed. `t_fault`: the time of the first evidence, `t_detected`: of the finding, `t_verified`: when
    its postcondition held. `result`: `helped`, `did not help`, `pending`, `proposed`, `declined` or `expired`."""

    fault: str
    action: str
    changes: tuple[Change, ...]
    t_fault: float | None
    t_detected: float | None
    t_verified: float | None
    result: str
    why: str = ""
    id: str = ""


class Story(NamedTuple):
    """`asked`: the spec as asked for, `spec`: as it ran last. `diagnosis` None: not judged, for nothing asked for it.
    `curves`: of the last run."""

    job: str
    mode: Mode
    asked: JobSpec
    spec: JobSpec
    exit: Exit
    told_to_end: bool
    runs: tuple[Lived, ...]
    remedies: tuple[Remedy, ...] = ()
    diagnosis: Diagnosis | None = None
    curves: Mapping[str, Curve] = {}
    tokens_per_s: float | None = None

    @property
    def status(self) -> str:
        """`done`, `stopped` (somebody told it to end), `failed`, or `unknown`."""
        if self.exit.ok:
            return "done"
        return "stopped" if self.told_to_end else "failed" if self.exit.known else "unknown"

    @property
    def began(self) -> float | None:
        return next((item.began for item in self.runs if item.began is not None), None)

    @property
    def seconds(self) -> float | None:
        """From the first start to the last end."""
        return None if self.began is None else max(0.0, self.exit.time - self.began)

    @property
    def between(self) -> float:
        """Seconds in which nothing ran: from the end of a run to the start of the next one."""
        pairs = zip(self.runs, self.runs[1:], strict=False)
        return sum(max(0.0, after.began - before.ended) for before, after in pairs if before.ended and after.began)

    @property
    def failed_seconds(self) -> float:
        """Seconds of the runs that did not come to their end: what they did is done again, but for what a checkpoint kept."""
        lived = [item for item in self.runs if item.exit is not None and not item.exit.ok]
        return sum(max(0.0, item.ended - item.began) for item in lived if item.ended and item.began)

    @property
    def for_good(self) -> tuple[Change, ...]:
        """What helped, to be made part of the command or its configuration."""
        return tuple(change for item in self.remedies if item.result == "helped" for change in item.changes)

    @property
    def cost(self) -> float | None:
        """What the time from first start to last end cost; None: no price was given."""
        if self.asked.price_per_hour is None or self.seconds is None:
            return None
        return self.asked.price_per_hour * self.seconds / 3600

    @property
    def cost_per_million_tokens(self) -> float | None:
        """With what failed runs and waiting cost. None: no price, or the job told no rate of tokens."""
        last = self.runs[-1] if self.runs else None
        if self.cost is None or not self.tokens_per_s or last is None or not last.began or not last.ended:
            return None
        tokens = self.tokens_per_s * (last.ended - last.began)
        return self.cost / tokens * 1e6 if tokens > 0 else None


def runs_since(directory: JobDirectory, first: int) -> tuple[Lived, ...]:
    """The runs of the job from number `first` on."""
    found = []
    for run in directory.runs():
        if run.number >= first:
            started, end = run.started(), run.ended() or run.given_up()
            why = str((run.intent() or {}).get("why", ""))
            found.append(Lived(run.number, started.time if started else None, end.time if end else None, end, why))
    return tuple(found)
