"""Whether host memory grows all the time: used memory of the host, or resident memory of one process or rank."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.detectors._stats import finite, rises, thirds, values
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Run, SeriesView
from neuronwatch.model.records import Fact

FEWEST = 8
"""Records that are needed before a trend is called one."""
STEADY = 0.9
"""Share of (earlier, later) pairs that must rise, in the whole series and in its second half."""
GROWTH = 0.03
"""Part of all host memory that the second half must add: loading a model rises too, but then stays level."""

ENOUGH_ALONE = 12
"""Records that are needed where the size of the host is not known."""
ADDED_ALONE = 0.15
"""What the last third of the second half must then have more than its first third."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    """`host.memory_growing` and, while it grows, `host.memory_exhaust_seconds`. Too few records: no fact."""
    total = facts.get("host.memory_total")
    if not isinstance(total, (int, float)) or total <= 0:
        for run in series.get("host_memory"):
            yield from _without_total(run)
        return
    for run in series.get("host_memory"):
        yield from _of_run(run, float(total))


def _without_total(run: Run) -> Iterable[Fact]:
    """The size of the host is not known: only a run that has doubled, and whose second half still adds a sixth, grows."""
    points = finite(run.points)
    if len(points) < ENOUGH_ALONE:
        return
    half = points[len(points) // 2 :]
    early, late = thirds(values(half))
    steady = rises(values(points)) >= STEADY and rises(values(half)) >= STEADY
    if steady and late >= early * (1 + ADDED_ALONE) and points[-1].value >= 2.0 * points[0].value > 0:
        yield Fact("host.memory_growing", True, points[-1].origin)


def _of_run(run: Run, total: float) -> Iterable[Fact]:
    points = finite(run.points)
    if len(points) < FEWEST:
        return
    last = points[-1]
    if last.value > 1.05 * total:
        return  # the total is of another host or misread
    half = points[len(points) // 2 :]
    early, late = thirds(values(half))
    growing = rises(values(points)) >= STEADY and rises(values(half)) >= STEADY and late - early >= GROWTH * total
    yield Fact("host.memory_growing", growing, last.origin)
    if not growing:
        return
    begin = half[0]
    # records without a time of their own count seconds as their step
    dated = last.time is not None and begin.time is not None
    span = (last.time or 0.0) - (begin.time or 0.0) if dated else (last.step or 0.0) - (begin.step or 0.0)
    if span > 0 and last.value > half[0].value:
        rate = (last.value - half[0].value) / span
        yield Fact("host.memory_exhaust_seconds", max(total - last.value, 0.0) / rate, last.origin)
