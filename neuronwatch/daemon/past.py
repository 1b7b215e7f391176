"""The readings of an earlier moment: from memory where it reaches so far, else from the history on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neuronwatch.store.errors import StoreError
from neuronwatch.store.history import History
from neuronwatch.store.ring import Ring

LOOK = 60.0
"""Seconds before the moment in which a value may have been read; older ones would be stale for any source."""
STEP = 5.0
"""Seconds of an interval of the history: its mean stands for it."""


def snapshot(ring: Ring, history: History | None, metrics: Iterable[str], at: float) -> dict[str, dict[str, list[Any]]]:
    """Per metric and entity `[value, age, reason, source]` as at `at` (seconds since the epoch). The source is the one that
    tells the metric now, "" where nobody does. Metrics of which nothing is known then are left out."""
    found: dict[str, dict[str, list[Any]]] = {}
    for metric in metrics:
        sources = {entity: point.source for entity, point in ring.latest(metric).items()}
        usual = next(iter(sources.values()), "")
        points = ring.at(metric, at, LOOK)
        told: dict[str, list[Any]]
        if points:
            told = {
                entity: [point.value, round(at - point.time, 3), point.reason, sources.get(entity, usual)]
                for entity, point in points.items()
            }
        elif history is not None:
            told = _from_disk(history, metric, at, sources, usual)
        else:
            told = {}
        if told:
            found[metric] = told
    return found


def _from_disk(history: History, metric: str, at: float, sources: dict[str, str], usual: str) -> dict[str, list[Any]]:
    try:
        result = history.query(metric, None, at - LOOK, at, round(LOOK / STEP))
    except StoreError:
        return {}
    told: dict[str, list[Any]] = {}
    for entity, column in result.columns.items():
        for place in range(len(result.times) - 1, -1, -1):
            value = column.mean[place]
            if value == value:
                age = max(0.0, at - (result.times[place] + result.width))
                told[entity] = [value, round(age, 3), "", sources.get(entity, usual)]
                break
    for gap in result.gaps:
        if gap.entity not in told and gap.start <= at <= gap.end + STEP:
            told[gap.entity] = [None, round(max(0.0, at - gap.end), 3), gap.reason, sources.get(gap.entity, usual)]
    return told
