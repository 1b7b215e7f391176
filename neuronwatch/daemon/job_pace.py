"""How far a run is and how fast: step or epoch, seconds per step, seconds left. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

Point = list[float | None]
"""Step or epoch, value, time (seconds since the epoch); None is not known."""
PACED = 40
"""Points over which the pace of a run is learned."""


class Asked(NamedTuple):
    """What a run was started with; None is not known."""

    max_steps: float | None
    logging_steps: float | None
    batch_limit: float | None


def pace(progress: list[Point], curves: Mapping[str, list[Point]], asked: Asked) -> dict[str, Any]:
    """Of a run: `step`, `epoch`, `seconds_per_step`, `seconds_left`; `step_estimated`: the step follows from the epoch. A log that
    counts epochs only (the dicts of the HF trainer) tells its steps by `--logging_steps`: so many are between two lines."""
    points = progress or next((curves[name] for name in ("loss", "step_time", "tokens_per_s") if name in curves), [])
    run = last_run(points)
    at = points[-1][0] if points else None
    epoch: float | None = None
    factor = 1.0
    """Steps for each unit of the points' index; 0: not known."""
    if not progress and any(point[0] is not None and point[0] != int(point[0]) for point in points):
        epoch = at
        factor = _steps_in_an_epoch(run, asked.logging_steps)
        at = float(round((epoch or 0.0) * factor)) if factor else None
    told = curves.get("step_time")
    seconds = told[-1][1] if told else None
    if seconds is None and factor:
        seconds = _seconds(run, factor, exact=epoch is None)
    most = asked.max_steps
    left = (most - at) * seconds if most is not None and at is not None and seconds is not None and most >= at else None
    return {"step": at, "step_estimated": epoch is not None and at is not None, "epoch": epoch, "seconds_per_step": seconds,
            "seconds_left": left}  # fmt: skip


def _steps_in_an_epoch(run: list[Point], logging_steps: float | None) -> float:
    """0: not known, or not yet to a tenth, since logs round their epochs."""
    epochs = [point[0] for point in run if point[0] is not None]
    finest = min((later - earlier for earlier, later in pairwise(epochs) if later > earlier), default=0.0)
    gone = epochs[-1] - epochs[0] if epochs else 0.0
    return (len(epochs) - 1) * logging_steps / gone if logging_steps and finest > 0 and gone >= 10 * finest else 0.0


def last_run(points: list[Point]) -> list[Point]:
    """The points since the step last fell back."""
    falls = (place + 1 for place in range(len(points) - 2, -1, -1) if _less(points[place + 1][0], points[place][0]))
    return points[next(falls, 0) :]


def _less(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one < other


def _seconds(run: list[Point], factor: float, exact: bool) -> float | None:
    """Seconds per step of the last points, as their times tell: the median, so that a checkpoint does not count as a slow step."""
    known = [(point[0], point[2]) for point in run[-PACED:] if point[0] is not None and point[2] is not None]
    if len(known) < 3:
        return None
    if not exact:  # epochs are rounded in logs: only the whole way is near enough
        steps, time = (known[-1][0] - known[0][0]) * factor, known[-1][1] - known[0][1]
        return time / steps if steps > 0 and time > 0 else None
    found = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(known)
             if after[0] > before[0] and after[1] > before[1]]  # fmt: skip
    return _median(found) if found else None


def _median(values: list[float]) -> float:
    """Of one at least. (`statistics` loads fractions, decimal and random: 0.6 MB for this.)"""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
