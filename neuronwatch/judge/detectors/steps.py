"""Training steps against compiles: a graph that is compiled again at every step, and whether steps go on at all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import pairwise

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, SeriesView
from neuronwatch.model.records import Fact

WARM_STEPS = 2
"""The first steps compile legitimately: forward and backward, then once more when optimizer state exists."""
EVERY = 0.7
"""Share of later steps with a compile before them that is called "every step"."""
MIN_INTERVALS = 3


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    """Works per file and rank on the order of lines, so launchers that interleave ranks need the rank prefix."""
    yield from _bars(series)
    yield from _standing(series, facts)
    yield from _input_share(series)
    worst: tuple[float, int, int, Point, str] | None = None
    total = 0
    for run in series.of_last_run("loss"):
        points = [point for point in run.points if point.origin.line is not None]
        if not points:
            continue
        total = max(total, len(run.points))
        compiles = sorted(
            point.origin.line
            for other in series.get("compile")
            if other.path == run.path and other.entity in ("", run.entity)
            for point in other.points
            if point.origin.line is not None
        )
        later = points[WARM_STEPS:]
        between = [
            sum(1 for line in compiles if (before.origin.line or 0) < line < (after.origin.line or 0))
            for before, after in zip(points[WARM_STEPS - 1 :], later, strict=False)
        ]
        hit = sum(1 for count in between if count)
        share = hit / len(between) if between else 0.0
        candidate = (share, hit, sum(between), points[-1], run.entity)
        if worst is None or candidate[:3] > worst[:3]:
            worst = candidate
    if worst is None:
        return
    share, hit, compiles_between, point, entity = worst
    yield stats.fact("step.count", total, point, entity)
    yield stats.fact("step.compiles", compiles_between, point, entity)
    yield stats.fact("step.recompiles_every_step", hit >= MIN_INTERVALS and share >= EVERY, point, entity)
    yield from _advancing(series)


def _input_share(series: SeriesView) -> Iterable[Fact]:
    """Share of the step that the loader takes: the first line waits for workers to start, so it does not count."""
    for run in series.get("input_share"):
        points = stats.finite(run.points)[1:]
        if len(points) >= 2:
            yield stats.fact("step.input_share", stats.median(stats.values(points)), points[-1], run.entity)


def _standing(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    """Seconds from the last dated step of the evidence to its capture."""
    now = facts.get("host.now")
    last: Point | None = None
    for name in ("loss", "progress", "tokens_per_s", "step_time"):
        for run in series.get(name):
            for point in run.points:
                if point.time is not None and (last is None or point.time > (last.time or 0.0)):
                    last = point
    if last is not None and last.time is not None and isinstance(now, (int, float)) and now >= last.time:
        yield stats.fact("step.stalled_seconds", now - last.time, last)


def _bars(series: SeriesView) -> Iterable[Fact]:
    """The same for logs whose only trace of steps is a progress bar. Its line may hold the next message too (the bar ends
    with no line feed), so a compile on the line of a state comes after it. States of several ranks are one bar."""
    best: tuple[int, int, int, Point, str] | None = None
    for run in series.get("progress"):
        states: list[Point] = []
        for point in run.points:
            step = point.step or 0.0
            if not states or step > (states[-1].step or 0.0):
                states.append(point)
        compiles = sorted(
            point.origin.line or 0
            for other in series.get("compile")
            if other.path == run.path and other.entity in ("", run.entity)
            for point in other.points
        )
        later = states[WARM_STEPS:]
        between = [
            bisect_left(compiles, after.origin.line or 0) - bisect_left(compiles, before.origin.line or 0)
            for before, after in pairwise(later)
        ]
        hit = sum(1 for count in between if count)
        if states and (best is None or (hit, len(states)) > best[:2]):
            best = (hit, len(states), sum(between), states[-1], run.entity)
            every = hit >= MIN_INTERVALS and hit >= EVERY * len(between)
    if best is None:
        return
    _, count, compiled, point, entity = best
    yield stats.fact("step.bar_count", count, point, entity)
    yield stats.fact("step.bar_compiles", compiled, point, entity)
    if every:
        yield stats.fact("step.recompiles_every_step", True, point, entity)


def _advancing(series: SeriesView) -> Iterable[Fact]:
    """Whether the step (or epoch) that the lines state rises to the last line of the longest run. A run that began anew in
    the same log, or went back to a checkpoint, is judged since then."""
    runs = [run for run in series.get("loss") if sum(point.step is not None for point in run.points) >= 3]
    if runs:
        run = max(runs, key=lambda item: (len(item.points), item.path))
        indexes = [(point.step, point) for point in run.points if point.step is not None]
        falls = [place for place, (a, b) in enumerate(pairwise(indexes), start=1) if b[0] < a[0]]
        since = indexes[falls[-1] if falls else 0 :]
        yield stats.fact("step.advancing", len(since) >= 3 and since[-1][0] > since[0][0], since[-1][1], run.entity)
