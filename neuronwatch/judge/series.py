"""Series of numbers (loss, grad_norm, running, ...), one Run for each source and entity, in file order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.model.records import Origin, Sample


class Point(NamedTuple):
    """`step` is the step or epoch where the line states it; `value` may be nan or inf, never None."""

    step: float | None
    value: float
    origin: Origin
    time: float | None


class Run(NamedTuple):
    """One series of one source. `entity` is "" or for example `rank3`."""

    name: str
    path: str
    entity: str
    points: list[Point]


class SeriesView:
    """All series of one case by name. Samples come in file order; runs are sorted by path and entity."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._runs: dict[tuple[str, str, str], Run] = {}
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        if sample.value is None:
            return
        key = (sample.name, sample.origin.path, sample.entity)
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = Run(sample.name, sample.origin.path, sample.entity, [])
        run.points.append(Point(sample.index, sample.value, sample.origin, sample.time))

    def get(self, name: str) -> list[Run]:
        return [run for key, run in sorted(self._runs.items()) if key[0] == name]

    def names(self) -> set[str]:
        return {key[0] for key in self._runs}
