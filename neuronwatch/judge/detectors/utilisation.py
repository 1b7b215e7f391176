"""How busy the NeuronCores are, from the samples of neuron-monitor and neuron-top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, SeriesView
from neuronwatch.model.records import Fact

IDLE = 1.0
"""A core whose median is below this many percent is idle."""
RECENT = 720
"""Points of a core that its median is taken over: an hour at the period of five seconds."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    """`neuron.utilisation_max` (the highest value seen), `neuron.utilisation_min` (the lowest median of a core),
    `neuron.utilisation_idle_cores` and `neuron.cores_in_use`, over all cores that have values. None have: no fact."""
    cores: dict[tuple[str, str], Sequence[Point]] = {}
    for run in series.get("utilisation"):
        if run.points:
            cores[(run.path, run.entity)] = run.points
    if not cores:
        return
    peak = max((point for points in cores.values() for point in points), key=lambda point: point.value)
    levels = {key: median(point.value for point in points[-RECENT:]) for key, points in cores.items()}
    slowest = min(levels, key=lambda key: (levels[key], key))
    last = cores[slowest][-1]
    yield Fact("neuron.utilisation_max", peak.value, peak.origin)
    yield Fact("neuron.utilisation_min", levels[slowest], last.origin, slowest[1])
    yield Fact("neuron.utilisation_idle_cores", sum(level < IDLE for level in levels.values()), last.origin)
    yield Fact("neuron.cores_in_use", len({entity for _, entity in levels}), last.origin)
