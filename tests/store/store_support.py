"""Readings and a clock for the tests of the store."""

from __future__ import annotations

from collections.abc import Callable

from neuronwatch.model.live import Reading
from neuronwatch.store.history import History

T0 = 1_760_000_100.0  # a multiple of 300
CORES = tuple(f"nd{core // 2}:nc{core % 2}" for core in range(8))


def readings(time: float, cores=CORES, value: Callable[[int, float], float | None] | None = None, metric="core.utilization"):
    value = value or (lambda core, when: (core * 10 + when % 10) / 2)
    found = []
    for core, entity in enumerate(cores):
        number = value(core, time)
        found.append(Reading(metric, entity, number, "" if number is not None else "no runtime"))
    return found


def fill(history: History, start: float, seconds: int, step: float = 1.0, **more) -> float:
    """Adds a row each `step` seconds and returns the time of the last."""
    time = start
    for index in range(int(seconds / step)):
        time = start + index * step
        history.add(readings(time, **more), time)
    return time
