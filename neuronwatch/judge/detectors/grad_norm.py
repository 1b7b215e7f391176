"""What the gradient norm does: zero, falling to zero, calm, not finite. Trial runs are left out as for the loss."""

from __future__ import annotations

import math
from collections.abc import Iterable

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.detectors.loss import MIN_VALUES, is_calm
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.records import Fact

VANISHED = 1e-3
"""Share of the early norm below which the late norm counts as gone."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    trial = {item.origin.path for item in facts.all("run.trial") if item.value}
    runs = [run for run in series.get("grad_norm") if run.path not in trial and run.points]
    if not runs:
        return
    run = max(runs, key=lambda item: (len(item.points), item.path))
    numbers, last = stats.values(run.points), run.points[-1]
    good = [number for number in numbers if math.isfinite(number)]
    bad = [point for point in run.points if not math.isfinite(point.value)]
    yield stats.fact("grad_norm.count", len(numbers), last, run.entity)
    yield stats.fact("grad_norm.last", last.value, last, run.entity)
    yield stats.fact("grad_norm.nan_count", len(bad), bad[0] if bad else last, run.entity)
    if good:
        yield stats.fact("grad_norm.max", max(good), last, run.entity)
    if len(good) < MIN_VALUES:
        return
    first, end = stats.thirds(good)
    yield stats.fact("grad_norm.zero", not bad and all(number == 0.0 for number in good), last, run.entity)
    yield stats.fact("grad_norm.falls_to_zero", first > 0.0 and end <= VANISHED * first, last, run.entity)
    yield stats.fact("grad_norm.calm", is_calm(numbers), last, run.entity)
