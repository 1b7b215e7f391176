"""Whether a job hangs: nothing of it moved for longer than its phase may take. Pure; a long compile is never a hang.

What counts as a move depends on the phase: while data is prepared or a model is loaded, processor time and I/O are work; in a
step they are not, because a rank that waits for another one in a collective burns a whole core.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuronwatch.model.job import Phase

LIMITS: Mapping[Phase, float | None] = {
    "unknown": 3600.0, "import": 1800.0, "data": 1800.0, "trace": 3600.0, "compile": 3600.0, "load": 3600.0, "warmup": 7200.0,
    "step": 1800.0, "checkpoint": 3600.0, "evaluate": 3600.0, "serve": None, "exit": 1800.0,
}  # fmt: skip
"""Seconds without a move. Conservative: the article's fine-tuning runs prepare data for half an hour, a first step loads and may
compile, a checkpoint goes to a slow disk. A server may have nothing to do for days: its health says how it is."""
WORKS: frozenset[Phase] = frozenset(("unknown", "import", "data", "trace", "compile", "load", "warmup", "checkpoint", "exit"))
"""Phases in which processor time or I/O is a move."""
SLACK = 3.0
"""A gap that this job had before, and went on after, so many times over is no hang."""


class Signs(NamedTuple):
    """What is seen of a job now. Times are seconds since the epoch: `since`: when the phase began; `spoke`: when it last said
    anything or stepped; `worked`: when it last used the processor, read or wrote (None: cannot be seen). `longest`: the longest
    gap of this phase that was no hang. `compilers`: compilers of the job that live; `waits`: what it is known to wait for (a
    lock whose holder lives)."""

    phase: Phase
    since: float
    spoke: float
    worked: float | None
    compilers: int = 0
    longest: float = 0.0
    waits: str = ""


class Stall(NamedTuple):
    """A hang: `seconds` without a move in a phase that may take `limit`."""

    phase: Phase
    seconds: float
    limit: float


def limit_of(signs: Signs, own: Mapping[str, float | None]) -> float | None:
    """Seconds that this phase may take without a move; None: for ever. `own`: limits of the job's spec."""
    if signs.phase in own:
        return own[signs.phase]
    shipped = LIMITS[signs.phase]
    return None if shipped is None else max(shipped, SLACK * signs.longest)


def stalled(signs: Signs, now: float, own: Mapping[str, float | None] | None = None) -> Stall | None:
    """None: it moves, or may."""
    if signs.compilers or signs.waits:
        return None
    limit = limit_of(signs, own or {})
    if limit is None:
        return None
    moved = max(signs.since, signs.spoke)
    if signs.phase in WORKS:
        moved = max(moved, signs.worked if signs.worked is not None else now)  # who cannot see it work does not say it does not
    seconds = now - moved
    return Stall(signs.phase, seconds, limit) if seconds >= limit else None
