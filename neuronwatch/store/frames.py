"""Readings of one moment, grouped by metric into rows of equal shape: what ring and history are made of.

A source delivers the same metrics of the same entities in the same order again and again, so the plan that sorts them is made
once per shape. One delivery of 1,280 readings takes about 0.2 ms.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple, cast

from neuronwatch.model.live import Reading
from neuronwatch.model.metrics import BY_NAME

MAX_ENTITIES = 2048
"""Of one metric in one row. The rest is left out and counted: 128 cores are ordinary, 10,000 short processes are not."""
LIMIT = 1e18
"""Larger numbers are no measurements (and would not fit the history's integers)."""
MAX_REASON = 200
_PLANS = 64
NAN = float("nan")
DEFAULT_STEP = 0.001
NOT_READ = "not read"
"""The reason where a row has no reading of an entity at all."""


def step_of(metric: str) -> float:
    """The smallest difference that is kept."""
    known = BY_NAME.get(metric)
    return float(known.resolution) if known is not None else DEFAULT_STEP


def code_of(metric: str) -> str:
    """The array type: 4 bytes for gauges, 8 for counters, whose large numbers count to the last digit."""
    known = BY_NAME.get(metric)
    return "d" if known is not None and known.kind == "counter" else "f"


def floats(code: str, values: Iterable[float] = ()) -> array[float]:
    return array("d", values) if code == "d" else array("f", values)


class Row(NamedTuple):
    """One metric at one moment. `values` stands in the order of `entities`, NaN where absent; `reasons` says why ("" where
    there is a value), None: nothing is absent. `entities` is the same object as long as the shape stays the same."""

    metric: str
    entities: tuple[str, ...]
    values: Sequence[float]
    reasons: tuple[str, ...] | None = None


class _Group(NamedTuple):
    metric: str
    entities: tuple[str, ...]
    pick: Callable[[Sequence[float]], tuple[float, ...]]
    pick_reasons: Callable[[Sequence[str]], tuple[str, ...]]


class _Plan(NamedTuple):
    metrics: tuple[str, ...]
    entities: tuple[str, ...]
    groups: list[_Group]


class Splitter:
    """Splits readings into rows. `left_out` counts entities beyond MAX_ENTITIES, once for each shape in which they came."""

    def __init__(self) -> None:
        self.left_out = 0
        self._plans: dict[tuple[int, str, str, str], _Plan] = {}
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._last: tuple[Sequence[Reading], list[Row]] = ((), [])

    def split(self, readings: Sequence[Reading]) -> list[Row]:
        """The rows of readings taken at one moment. Where an entity is told twice the last one counts. Asked again for the
        same object it gives the same answer without work."""
        if not readings:
            return []
        if readings is self._last[0]:
            return self._last[1]
        metrics, entities, told, _ = zip(*readings, strict=True)
        plan = self._plan(metrics, entities)
        reasons: list[str] | None = None
        if _all_present(told):
            values = cast("Sequence[float]", told)
        else:
            pairs = [
                (value, "") if value is not None and -LIMIT <= value <= LIMIT else _absent(value, reason)
                for _, _, value, reason in readings
            ]
            values, reasons = [value for value, _ in pairs], [reason for _, reason in pairs]
        rows = [_row(group, values, reasons) for group in plan.groups]
        self._last = (readings, rows)
        return rows

    def _plan(self, metrics: tuple[str, ...], entities: tuple[str, ...]) -> _Plan:
        key = (len(metrics), metrics[0], entities[0], entities[-1])
        plan = self._plans.get(key)
        if plan is None or plan.metrics != metrics or plan.entities != entities:
            plan = self._plans[key] = _Plan(metrics, entities, self._groups(metrics, entities))
            if len(self._plans) > _PLANS:
                del self._plans[next(iter(self._plans))]
        return plan

    def _groups(self, metrics: Sequence[str], entities: Sequence[str]) -> list[_Group]:
        places: dict[str, dict[str, int]] = {}
        for index, (metric, entity) in enumerate(zip(metrics, entities, strict=True)):
            of_metric = places.setdefault(metric, {})
            if entity in of_metric or len(of_metric) < MAX_ENTITIES:
                of_metric[entity] = index
            else:
                self.left_out += 1
        if len(self._shapes) > 4 * _PLANS:
            self._shapes.clear()
        groups = []
        for metric, of_metric in places.items():
            shape = tuple(of_metric)
            pick = _picker(list(of_metric.values()))
            groups.append(_Group(metric, self._shapes.setdefault(shape, shape), pick, pick))
        return groups


def _picker(indices: list[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if len(indices) == 1:
        only = indices[0]
        return lambda values: (values[only],)
    return itemgetter(*indices)


def _row(group: _Group, values: Sequence[float], reasons: list[str] | None) -> Row:
    if reasons is not None:
        of_group = group.pick_reasons(reasons)
        if any(of_group):
            return Row(group.metric, group.entities, group.pick(values), of_group)
    return Row(group.metric, group.entities, group.pick(values))


def _all_present(values: Sequence[float | None]) -> bool:
    """Whether all are numbers within LIMIT. A sum is the fastest question whether any is None or NaN."""
    try:
        total = sum(values)  # type: ignore[arg-type]
    except TypeError:
        return False
    return isfinite(total) and max(values) <= LIMIT and min(values) >= -LIMIT  # type: ignore[operator,type-var]


def _absent(value: float | None, reason: str) -> tuple[float, str]:
    if value is None:
        return NAN, reason[:MAX_REASON] or "no reason told"
    if not isfinite(value) or not -LIMIT <= value <= LIMIT:
        return NAN, "not a number" if value != value else "out of range"
    return value, ""
