"""Whether a run that ended is started again, and when. Pure: what happened in, what to do out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from neuronwatch.model.job import Exit, Mode

FIRST, FACTOR, LONGEST = 1.0, 2.0, 300.0
"""Seconds before the second restart, what each further one multiplies it with, and the most."""
MOST = 10
"""Restarts in a row without a step between them."""


class Ended(NamedTuple):
    """A run that is over. `stepped`: it made a step (None: not known), `seconds`: how long it ran, `asked`: a person ended it,
    `settled`: one that lived so many seconds and is not known to have made no step counts as one that did."""

    exit: Exit
    seconds: float
    stepped: bool | None = None
    asked: bool = False
    settled: float = 60.0

    @property
    def early(self) -> bool:
        return self.seconds < self.settled if self.stepped is None else not self.stepped


class Again(NamedTuple):
    """Start again after so many seconds. `judge`: it is started first, and what happened is written down then."""

    delay: float
    why: str
    judge: bool = False


class Enough(NamedTuple):
    """Do not; why, for people."""

    why: str


def after(history: Sequence[Ended], mode: Mode) -> Again | Enough:
    """What to do after the last run of `history` (all of this job, the newest last)."""
    last = history[-1]
    if last.exit.ok:
        return Enough("it is done")
    if last.asked:
        return Enough("it was told to end")
    if mode != "act":
        return Enough(f"the policy is {mode}: a failed run is reported, not restarted")
    if last.exit.status in (126, 127) and last.exit.reason:
        return Enough(f"the command cannot be started: {last.exit.reason}")
    before = history[-2] if len(history) > 1 else None
    if last.early and before is not None and before.early and _way(before.exit) == _way(last.exit):
        return Enough(f"it failed twice before its first step in the same way ({describe(last.exit)}): a restart cannot help")
    fruitless = 0
    for item in reversed(history):
        if not item.early:
            break
        fruitless += 1
    if fruitless > MOST:
        return Enough(f"{MOST} restarts in a row came to no step")
    delay = 0.0 if fruitless <= 1 else min(LONGEST, FIRST * FACTOR ** (fruitless - 2))
    return Again(delay, describe(last.exit))


def _way(end: Exit) -> tuple[int | None, int | None]:
    return end.status, end.signal


def describe(end: Exit) -> str:
    """`status 1`, `signal 9`, `status unknown`, for people."""
    if not end.known:
        return f"status unknown: {end.reason}" if end.reason else "status unknown"
    said = f"status {end.status}" if end.status is not None else f"signal {end.signal}"
    return f"{said}: {end.reason}" if end.reason else said
