"""Training throughput against the run's own earlier level, and one rank that is slower than the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, Run, SeriesView
from neuronwatch.model.records import Fact

MIN_POINTS = 12
TAIL = 0.2
"""Share of the run (at least four points) that must stay low."""
DROP = 0.7
"""Level of the tail over the earlier plateau below which throughput dropped."""
SLOWER = 1.25
MIN_RANKS = 3
FEW_POINTS, FAR = 5, 2.0
"""Of fewer steps than MIN_POINTS the times must be this many times apart."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    yield from _drop(series)
    yield from _straggler(series)


def _speeds(series: SeriesView) -> Iterator[Run]:
    """Training speed, higher is better: tokens/s, else samples/s, else the inverse of the step time. Servers' rates are
    not it."""
    serving = {run.path for run in series.get("running")}
    stated = {run.path for run in series.get("tokens_per_s")}
    for run in series.get("tokens_per_s"):
        if run.path not in serving:
            yield run
    for run in series.get("samples_per_s"):
        if run.path not in serving and run.path not in stated:
            yield run
    stated |= {run.path for run in series.get("samples_per_s")}
    for run in series.get("step_time"):
        if run.path not in stated and run.path not in serving:
            points = [point._replace(value=1 / point.value) for point in run.points if point.value > 0]
            yield run._replace(points=points)


def _drop(series: SeriesView) -> Iterator[Fact]:
    worst: tuple[float, bool, Point, str] | None = None
    compiles = [(run.path, point.origin.line or 0) for run in series.get("compile") for point in run.points]
    for run in _speeds(series):
        points = stats.finite(run.points)
        if len(points) < MIN_POINTS:
            continue
        tail = max(4, int(len(points) * TAIL))
        # The first tenth holds compiles and warm-up; the plateau is what follows, up to the tail.
        warm = max(1, len(points) // 10)
        fall = _fall(points, warm, tail)
        plateau = stats.median(stats.values(points[warm:fall]))
        if plateau <= 0:
            continue
        late = points[fall:]
        ratio = stats.median(stats.values(late)) / plateau
        start = late[0].origin.line or 0
        recompiled = any(path == run.path and line >= start for path, line in compiles)
        dropped = ratio < DROP and all(point.value < 0.85 * plateau for point in late) and not recompiled
        if worst is None or ratio < worst[0]:
            worst = (ratio, dropped, late[0], run.entity)
    if worst is not None:
        yield stats.fact("throughput.ratio", worst[0], worst[2], worst[3])
        yield stats.fact("throughput.dropped", worst[1], worst[2], worst[3])


def _fall(points: list[Point], warm: int, tail: int) -> int:
    """Where the low level begins: after the last point on the high plateau, when a plateau stands before it; else the tail."""
    later = stats.values(points[warm:])
    high = sorted(later)[int(0.9 * (len(later) - 1))]
    begin = warm + 1 + max(place for place, value in enumerate(later) if value >= 0.85 * high)
    before = later[: begin - warm]
    steady = sum(1 for value in before if value >= 0.85 * high) >= 0.8 * len(before)
    return begin if steady and len(before) >= 4 and len(points) - begin >= tail else len(points) - tail


def _far_apart(ranks: dict[str, list[Point]]) -> Iterator[Fact]:
    """A short excerpt: one rank whose fastest step takes twice as long as the slowest step of every other rank."""
    shown = {rank: stats.values(points) for rank, points in ranks.items() if len(points) >= FEW_POINTS}
    if len(shown) < MIN_RANKS:
        return
    slow = max(shown, key=lambda rank: (stats.median(shown[rank]), rank))
    others = max(max(numbers) for rank, numbers in shown.items() if rank != slow)
    if others > 0 and min(shown[slow]) >= FAR * others:
        point = ranks[slow][-1]
        yield stats.fact("step.slow_ratio", min(shown[slow]) / others, point, slow)
        yield stats.fact("step.slow_rank", slow, point, slow)


def _straggler(series: SeriesView) -> Iterator[Fact]:
    """Median step time of each rank against the median of the others; needs several ranks and many steps."""
    ranks: dict[str, list[Point]] = {}
    # where ranks state what they compute, the step time is the same for all: the others wait in the collective
    computing = series.get("compute_time")
    for run in computing or series.get("step_time"):
        if run.entity.startswith("rank"):
            ranks.setdefault(run.entity, []).extend(stats.finite(run.points))
    medians = {rank: stats.median(stats.values(points)) for rank, points in ranks.items() if len(points) >= MIN_POINTS}
    if len(medians) < MIN_RANKS:
        yield from _far_apart(ranks)
        return
    slow = max(medians, key=lambda rank: (medians[rank], rank))
    others = stats.median(value for rank, value in medians.items() if rank != slow)
    point = ranks[slow][-1]
    ratio = medians[slow] / others if others > 0 else 0.0
    yield stats.fact("step.slow_ratio", ratio, point, slow)
    if computing:
        # stages of a pipeline differ by nature, in groups: one rank must stand out from every other
        second = max(value for rank, value in medians.items() if rank != slow)
        ratio = min(ratio, 1.2 * medians[slow] / second) if second > 0 else 0.0
        limit = 1.4
    else:
        limit = SLOWER
    if ratio >= limit:
        yield stats.fact("step.slow_rank", slow, point, slow)
