"""What the loss of a training run does: NaN, flat, identical, swinging, creeping up, at the level of chance.

Of several runs in one heap (an earlier good run, other ranks) the facts describe the worst: that is the one somebody
asks about. Files that only extract graphs (`run.trial`) are left out, their losses are not real.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, Run, SeriesView
from neuronwatch.model.records import Fact

MIN_VALUES = 3
"""Fewer values than this say nothing about a course."""
MIN_COURSE = 6
"""Values needed before an oscillation or a slow rise is believed."""
WHOLE_UNITS = 1.0
"""Standard deviation of the steps from value to value that is called a swing of whole units."""
SMALL_BATCH = 4
"""Sequences in a global batch below which a jumping loss is ordinary sampling noise."""
CHANCE_VOCAB, CHANCE_LABELS = 0.05, 0.03
"""Relative distance to ln(vocabulary) and to ln(labels) that counts as the level of chance."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    trial = {item.origin.path for item in facts.all("run.trial") if item.value}
    runs = [run for run in series.get("loss") if run.path not in trial and run.points]
    if not runs:
        return
    run = max(runs, key=_badness)
    yield from _extremes(run)
    yield from _not_finite(run, series)
    good = stats.finite(run.points)
    if good:
        yield from _course(run, good, series, facts)
        yield from _chance(good, facts)
        yield from _other_runs(run, runs, good)


def _badness(run: Run) -> tuple[bool, float, int, str]:
    """Runs with NaN first, then the one that ends highest; the path keeps the order stable."""
    good = stats.values(stats.finite(run.points))
    return (len(good) < len(run.points), stats.thirds(good)[1] if good else 0.0, len(run.points), run.path)


def _extremes(run: Run) -> Iterator[Fact]:
    first, last, good = run.points[0], run.points[-1], stats.finite(run.points)
    yield stats.fact("loss.count", len(run.points), last, run.entity)
    yield stats.fact("loss.first", first.value, first, run.entity)
    yield stats.fact("loss.last", last.value, last, run.entity)
    if good:
        low, high = min(good, key=lambda p: p.value), max(good, key=lambda p: p.value)
        yield stats.fact("loss.min", low.value, low, run.entity)
        yield stats.fact("loss.max", high.value, high, run.entity)


def _not_finite(run: Run, series: SeriesView) -> Iterator[Fact]:
    bad = [(index, point) for index, point in enumerate(run.points) if not math.isfinite(point.value)]
    where = bad[0][1] if bad else run.points[-1]
    yield stats.fact("loss.nan_count", len(bad), where, run.entity)
    if bad:
        yield stats.fact("loss.nan_first_index", bad[0][0], where, run.entity)
        step = bad[0][1].step
        if step is not None:
            yield stats.fact("loss.nan_first_step", step, where, run.entity)
        rates = stats.by_line(series.get("learning_rate"))
        rate = rates.get((run.path, where.origin.line, run.entity))
        if rate is not None and math.isfinite(rate.value):
            yield stats.fact("loss.nan_lr", rate.value, where, run.entity)


def _course(run: Run, good: list[Point], series: SeriesView, facts: FactsView) -> Iterator[Fact]:
    numbers, last = stats.values(good), good[-1]
    if len(numbers) < MIN_VALUES:
        return
    start, level = stats.thirds(numbers)
    noise = stats.noise(numbers)
    all_finite = len(good) == len(run.points)
    zero = all(number == 0.0 for number in numbers)
    yield stats.fact("loss.level", level, last, run.entity)
    yield stats.fact("loss.zero", zero, last, run.entity)
    yield stats.fact("loss.identical", all_finite and not zero and len(set(numbers)) == 1, last, run.entity)
    fall = start - level
    falls = fall > max(0.03 * abs(start), noise) and not zero
    narrow = max(numbers) - min(numbers) <= 0.1 * abs(level)
    yield stats.fact("loss.falls", falls, last, run.entity)
    yield stats.fact("loss.flat", all_finite and fall <= max(0.01 * abs(level), noise) and narrow, last, run.entity)
    rise = level - start
    steady = len(numbers) >= MIN_COURSE and stats.rises(numbers) >= 0.8
    yield stats.fact("loss.creeping_up", steady and 0.02 * abs(start) < rise, last, run.entity)
    yield from _swing(run, good, series, facts)


def _swing(run: Run, good: list[Point], series: SeriesView, facts: FactsView) -> Iterator[Fact]:
    """Swings after the warm-up (first tenth). A grad_norm series of the same file must be calm, the batch not tiny."""
    settled = good[max(1, len(good) // 10) :]
    steps = stats.differences(stats.values(settled))
    if len(steps) < MIN_VALUES:
        return
    swing = stats.spread(steps)
    widest = max(range(len(steps)), key=lambda index: abs(steps[index]))
    yield stats.fact("loss.swing", swing, settled[widest + 1], run.entity)
    norms = [item for item in series.get("grad_norm") if item.path == run.path and item.entity == run.entity]
    if not norms or len(good) < MIN_COURSE:
        return
    calm = is_calm(stats.values(norms[0].points))
    turns = sum(1 for a, b in pairwise(steps) if a * b < 0)
    often = turns >= 0.5 * (len(steps) - 1) and stats.median(abs(step) for step in steps) >= 0.5 * WHOLE_UNITS
    batch = facts.get("launch.global_batch") or facts.get("launch.per_device_batch")
    small = isinstance(batch, (int, float)) and batch <= SMALL_BATCH
    needed = WHOLE_UNITS if isinstance(batch, (int, float)) else 1.5 * WHOLE_UNITS
    oscillates = calm and often and not small and swing >= needed
    yield stats.fact("loss.oscillates", oscillates, settled[widest + 1], run.entity)


def is_calm(norms: Sequence[float]) -> bool:
    """After the first tenth: finite, not vanishing, all within a factor of four of the median: the optimiser behaves.

    The mean distance from the mean is small too: a norm that swings with the loss speaks of two kinds of batches.
    """
    settled = norms[len(norms) // 10 :]
    if len(settled) < MIN_VALUES or not all(math.isfinite(norm) for norm in norms):
        return False
    middle = stats.median(settled)
    if not 0.0 < middle < 20.0 or min(settled) < middle / 4.0 or max(settled) > 4.0 * middle:
        return False
    mean = math.fsum(settled) / len(settled)
    return math.fsum(abs(norm - mean) for norm in settled) <= 0.4 * mean * len(settled)


def _chance(good: list[Point], facts: FactsView) -> Iterator[Fact]:
    """The last half of the run against ln(vocabulary size) and ln(number of labels)."""
    tail = good[len(good) // 2 :]
    if len(good) < MIN_VALUES:
        return
    for kind, names, tolerance in (
        ("vocab", ("config.vocab_size", "published.vocab_size", "tokenizer.vocab_size"), CHANCE_VOCAB),
        ("labels", ("config.num_labels", "arg.num_labels", "arg.num_classes"), CHANCE_LABELS),
    ):
        size = next((value for value in map(facts.get, names) if isinstance(value, (int, float))), None)
        if size is None or size < 3:
            continue
        chance = math.log(size)
        near = all(abs(point.value - chance) <= tolerance * chance for point in tail)
        yield stats.fact(f"loss.ln_{kind}", chance, tail[-1])
        yield stats.fact(f"loss.near_ln_{kind}", near, tail[-1])


def _other_runs(run: Run, runs: list[Run], good: list[Point]) -> Iterator[Fact]:
    """Whether another file reaches a clearly lower loss: by half a unit and a fifth of this run's level."""
    level = stats.thirds(stats.values(good))[1]
    others = [stats.finite(other.points) for other in runs if other.path != run.path]
    ends = [(stats.thirds(stats.values(points))[1], points[-1]) for points in others if points]
    if ends:
        best, where = min(ends, key=lambda item: item[0])
        better = best < level - max(0.5, 0.2 * abs(level))
        yield stats.fact("loss.other_run_better", better, where)
        if better:
            yield stats.fact("loss.best_other", best, where)
