"""How busy the NeuronCores are, from the samples of neuron-monitor and neuron-top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, SeriesView
from neuronwatch.model.records import Fact

IDLE = 1.0
"""A core whose median is below this many percent is idle."""
MIN_CORES = 4
MIN_POINTS = 3
"""Fewer cores or readings than these say nothing about one that differs."""
RECENT = 720
"""Points of a core that its median is taken over: an hour at the period of five seconds."""
LEFT = 180.0
"""Seconds for which a monitor that goes on has no value of a core, after which nobody holds that core any more."""


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    """`neuron.utilisation_max` (the highest value seen), `neuron.utilisation_min` (the lowest median of a core),
    `neuron.utilisation_idle_cores` and `neuron.cores_in_use`, over all cores that have values. None have: no fact. A core that a
    monitor lists no longer while its records go on is not in use: its values are of a job that is over."""
    cores: dict[tuple[str, str], Sequence[Point]] = {}
    for run in series.get("utilisation"):
        if run.points:
            cores[(run.path, run.entity)] = run.points
    if not cores:
        return
    newest = _newest(series, {path for path, _ in cores})
    cores = {key: points for key, points in cores.items() if not _left(points[-1], newest.get(key[0]))}
    if not cores:
        yield Fact("neuron.cores_in_use", 0, next(iter(newest.values())).origin)
        return
    numbers = {key: stats.values(points) for key, points in cores.items()}
    levels = {key: stats.median(values[-RECENT:]) for key, values in numbers.items()}
    slowest = min(levels, key=lambda key: (levels[key], key))
    last = cores[slowest][-1]
    highest = max(numbers, key=lambda key: max(numbers[key]))
    peak = cores[highest][max(range(len(numbers[highest])), key=numbers[highest].__getitem__)]
    yield Fact("neuron.utilisation_max", peak.value, peak.origin)
    yield Fact("neuron.utilisation_min", levels[slowest], last.origin, slowest[1])
    yield Fact("neuron.utilisation_idle_cores", sum(level < IDLE for level in levels.values()), last.origin)
    yield Fact("neuron.cores_in_use", len({entity for _, entity in levels}), last.origin)
    yield from _apart(cores, levels)


def _newest(series: SeriesView, paths: set[str]) -> dict[str, Point]:
    """The last record of each monitor: it tells the host's memory in each, the cores only while somebody holds them."""
    found: dict[str, Point] = {}
    for run in (*series.get("host_memory"), *series.get("utilisation")):
        if run.path in paths and run.points:
            last = run.points[-1]
            if run.path not in found or (last.origin.line is not None and last.origin.line > (found[run.path].origin.line or 0)):
                found[run.path] = last
    return found


def _left(last: Point, newest: Point | None) -> bool:
    if newest is None or last.time is None or newest.time is None:
        return False
    return newest.time - last.time > LEFT


def _apart(cores: Mapping[tuple[str, str], Sequence[Point]], levels: Mapping[tuple[str, str], float]) -> Iterable[Fact]:
    """`neuron.core_apart`: the one core of at least four whose level stays away from that of all others, which agree."""
    busy = {key: level for key, level in levels.items() if level >= IDLE and len(cores[key]) >= MIN_POINTS}
    if len(busy) < MIN_CORES or len(busy) != len(levels):
        return
    middle = stats.median(busy.values())
    far = max(busy, key=lambda key: (abs(busy[key] - middle), key))
    others = [level for key, level in busy.items() if key != far]
    if max(others) - min(others) > 0.2 * stats.median(others) or abs(busy[far] - middle) < 0.4 * middle:
        return
    away = busy[far] > middle
    most = max(others)
    if all((value > most) == away and value != middle for value in stats.values(cores[far])[-RECENT:]):
        yield Fact("neuron.core_apart", far[1], cores[far][-1].origin, far[1])
