"""Small robust statistics for series: standard library only, no numpy, all inputs finite unless said otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from neuronwatch.judge.series import Point, Points, Run
from neuronwatch.model.records import Fact, Value

MAX_MAGNITUDE = 1e100
"""Larger numbers are treated as infinite: no series of a run has them, and their squares overflow."""


def median(numbers: Iterable[float]) -> float:
    """The middle of at least one number. `statistics` has it too, and brings fractions and decimals to every start (7 ms)."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def finite(points: Sequence[Point]) -> list[Point]:
    """The points without NaN, infinities and absurd magnitudes, in order."""
    return [point for point in points if abs(point.value) < MAX_MAGNITUDE]


def values(points: Sequence[Point]) -> Sequence[float]:
    return points.values if isinstance(points, Points) else [point.value for point in points]


def thirds(numbers: Sequence[float]) -> tuple[float, float]:
    """Medians of the first and of the last third (at least one value each)."""
    size = max(1, len(numbers) // 3)
    return median(numbers[:size]), median(numbers[-size:])


def differences(numbers: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(numbers)]


def noise(numbers: Sequence[float]) -> float:
    """Typical step from value to value: the median of absolute differences (0 for fewer than two values)."""
    steps = [abs(step) for step in differences(numbers)]
    return median(steps) if steps else 0.0


def spread(numbers: Sequence[float]) -> float:
    """Standard deviation around the mean; 0 for fewer than two values."""
    if len(numbers) < 2:
        return 0.0
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / len(numbers))


def rises(numbers: Sequence[float]) -> float:
    """Share of pairs (earlier, later) in which the later value is higher, over at most 60 evenly taken values.

    1.0 is a steady rise, 0.5 is no trend: a rank statistic, so single outliers do not matter.
    """
    taken = list(numbers)
    if len(taken) > 60:
        taken = [taken[index * (len(taken) - 1) // 59] for index in range(60)]
    pairs = up = 0
    for first, low in enumerate(taken):
        for high in taken[first + 1 :]:
            if high != low:
                pairs += 1
                up += high > low
    return up / pairs if pairs else 0.5


def by_line(runs: Sequence[Run]) -> dict[tuple[str, int | None, str], Point]:
    """Points by (path, line, entity), to join two series that one line states."""
    return {(run.path, point.origin.line, run.entity): point for run in runs for point in run.points}


def fact(name: str, value: Value, point: Point, entity: str = "") -> Fact:
    return Fact(name, value, point.origin, entity)
