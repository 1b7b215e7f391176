"""Series of numbers (loss, grad_norm, running, ...), one Run for each source and entity, in file order."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from neuronwatch.model.records import Origin, Sample

FEW = 2_000
"""Of a longer series the texts of its lines are kept only for the first ones, and where a value is not finite."""

MOST = 100_000
"""Points kept of one run. A log of any size has no more: then every second one of its middle goes."""
MOST_OF_A_FILE = 300_000
NO_LINE = -(1 << 62)


class Bounds(NamedTuple):
    """Points kept of one run and of all runs of a file, how many first ones of a run keep the text of their line, and how many of
    all runs of a file do (that are 129 runs where a monitor tells of 128 cores)."""

    run: int
    file: int
    texts: int
    texts_of_a_file: int


class Point(NamedTuple):
    """`step` is the step or epoch where the line states it; `value` may be nan or inf, never None."""

    step: float | None
    value: float
    origin: Origin
    time: float | None


class Points(Sequence[Point]):
    """The points of a run in file order, kept as columns: a long log has hundreds of thousands of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.version = 0
        """Grows with each change: who remembers something of these points asks whether it still holds."""
        self._steps = array("d")
        self._values = array("d")
        self._times = array("d")
        """Steps and times: NaN is unknown."""
        self._lines = array("q")
        self._texts: dict[int, str] = {}

    @property
    def path(self) -> str:
        return self._path

    def append(self, step: float | None, value: float, origin: Origin, time: float | None, with_text: bool) -> None:
        if with_text or not math.isfinite(value):
            self._texts[len(self._values)] = origin.text
        self._steps.append(math.nan if step is None else _real(step))
        self._values.append(value)
        self._times.append(math.nan if time is None else time)
        self._lines.append(NO_LINE if origin.line is None else origin.line)
        self.version += 1

    @property
    def values(self) -> Sequence[float]:
        """The values alone: to go through them costs a hundredth of going through the points."""
        return self._values

    @property
    def texts(self) -> int:
        """How many points have the text of their line."""
        return len(self._texts)

    def tail(self, count: int) -> list[tuple[float | None, float, float | None, int]]:
        """The last points as (step, value, time, line), without the texts of their lines."""
        steps, times = map(_known, self._steps[-count:]), map(_known, self._times[-count:])
        return list(zip(steps, self._values[-count:], times, self._lines[-count:], strict=True))

    def thin(self, first: int = FEW) -> None:
        """Every second point goes, but for the `first` ones, the last quarter, and (of a run that has few) those that are not
        finite: where a run began, how it ended and what went wrong stays exact."""
        size = len(self._values)
        odd = [place for place, value in enumerate(self._values) if not math.isfinite(value)]
        special = set(odd if len(odd) <= first else ())
        kept = [place for place in range(size)
                if place < first or place >= size - size // 4 or place % 2 == 0 or place in special]  # fmt: skip
        self._keep(kept)

    def _keep(self, kept: Sequence[int]) -> None:
        self._texts = {new: self._texts[old] for new, old in enumerate(kept) if old in self._texts}
        self._steps = array("d", [self._steps[place] for place in kept])
        self._times = array("d", [self._times[place] for place in kept])
        self._values = array("d", [self._values[place] for place in kept])
        self._lines = array("q", [self._lines[place] for place in kept])
        self.version += 1

    def shift(self, by: int) -> None:
        self._lines = array("q", [NO_LINE if line == NO_LINE else line - by for line in self._lines])
        self.version += 1

    def retire(self, until: int) -> None:
        """The points of lines up to `until` go."""
        kept = [place for place, line in enumerate(self._lines) if line > until]
        if len(kept) < len(self._lines):
            self._keep(kept)

    def lines(self) -> Sequence[int]:
        return self._lines

    def last_line(self) -> int:
        return max(0, self._lines[-1]) if self._lines else 0

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Point]:
        path, texts = self._path, self._texts
        for place, (step, value, time, line) in enumerate(zip(self._steps, self._values, self._times, self._lines, strict=True)):
            origin = Origin(path, None if line == NO_LINE else line, texts.get(place, ""))
            yield Point(_known(step), value, origin, _known(time))

    @overload
    def __getitem__(self, index: int) -> Point: ...

    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...

    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        line = self._lines[place]
        origin = Origin(self._path, None if line == NO_LINE else line, self._texts.get(place, ""))
        return Point(_known(self._steps[place]), self._values[place], origin, _known(self._times[place]))


def _known(number: float) -> float | None:
    return None if number != number else number


def _chained(path: str, *parts: Points) -> Points:
    found = Points(path)
    for part in parts:
        for point in part:
            found.append(point.step, point.value, point.origin, point.time, bool(point.origin.text))
    return found


class Run(NamedTuple):
    """One series of one source. `entity` is "" or for example `rank3`."""

    name: str
    path: str
    entity: str
    points: Sequence[Point]


def _real(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if value > 0 else -math.inf


class SeriesView:
    """All series of one case by name. Samples come in file order; runs are sorted by path and entity."""

    def __init__(self, samples: Iterable[Sample] = (), bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds(MOST, MOST_OF_A_FILE, FEW, MOST_OF_A_FILE)
        self._runs: dict[tuple[str, str, str], Points] = {}
        self._count, self._full = 0, False
        self._texts = 0
        """How many texts of lines were kept."""
        self._begun: dict[str, int] = {}
        """Path to the line at which its last run begins, where it holds several."""
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        if sample.value is None or self._full:
            return
        key = (sample.name, sample.origin.path, sample.entity)
        points = self._runs.get(key)
        if points is None:
            points = self._runs[key] = Points(sample.origin.path)
        bounds = self._bounds
        with_text = len(points) < bounds.texts and self._texts < bounds.texts_of_a_file
        self._texts += with_text
        points.append(sample.index, _real(sample.value), sample.origin, sample.time, with_text)
        self._count += 1
        if len(points) > bounds.run:
            self._thin((points,))
        elif self._count > bounds.file:
            self._thin(tuple(self._runs.values()))
            self._full = self._count > 19 * bounds.file // 20  # runs of a few points each, in absurd numbers

    def _thin(self, runs: Sequence[Points]) -> None:
        bounds = self._bounds
        for run in runs:
            before = len(run)
            run.thin(min(bounds.texts, bounds.run // 4, bounds.file // (4 * len(runs))))
            self._count -= before - len(run)

    @property
    def count(self) -> int:
        """Points kept."""
        return self._count

    def include(self, other: SeriesView, begun: int = 0) -> None:
        """Takes in the series of another source. `begun`: the line at which its last run begins."""
        if begun:
            self._begun.update({key[1]: begun for key in other._runs})
        for key, points in other._runs.items():
            known = self._runs.get(key)
            # The points of a source are its own: a run that goes on in another one is put together in a third place.
            self._runs[key] = points if known is None else _chained(points.path, known, points)

    def shift(self, by: int) -> None:
        """Takes `by` off all line numbers."""
        for points in self._runs.values():
            points.shift(by)

    def retire(self, until: int) -> None:
        """Forgets the points of lines up to `until`."""
        for points in self._runs.values():
            points.retire(until)
        self._runs = {key: points for key, points in self._runs.items() if len(points)}
        self._count, self._full = sum(map(len, self._runs.values())), False
        self._texts = sum(points.texts for points in self._runs.values())

    def last_line(self) -> int:
        return max((points.last_line() for points in self._runs.values()), default=0)

    def tails(self, name: str, count: int) -> dict[str, list[tuple[float | None, float, float | None, int]]]:
        """Entity to the last points of its run of this name, as (step, value, time, line)."""
        return {key[2]: points.tail(count) for key, points in sorted(self._runs.items()) if key[0] == name}

    def get(self, name: str) -> list[Run]:
        found = sorted(key for key in self._runs if key[0] == name)
        return [Run(*key, self._runs[key]) for key in found]

    def marks(self, name: str) -> list[tuple[tuple[str, str, str], Points, int, int]]:
        """Equal to what it was as long as `get` and `of_last_run` give the same: key, points with their version, and the line at
        which the last run begins."""
        found = sorted(key for key in self._runs if key[0] == name)
        return [(key, self._runs[key], self._runs[key].version, self._begun.get(key[1], 0)) for key in found]

    def of_last_run(self, name: str) -> list[Run]:
        """The same without the points of runs that came before in the same log."""
        found = []
        for run in self.get(name):
            begun = self._begun.get(run.path, 0)
            points = [point for point in run.points if (point.origin.line or 0) >= begun] if begun else run.points
            if points:
                found.append(run._replace(points=points))
        return found

    def lines(self, but: Collection[str] = ()) -> list[int]:
        """The lines of all points, in order, `but` for the series of these names."""
        return sorted({line for key, points in self._runs.items() if key[0] not in but for line in points.lines()})

    def names(self) -> set[str]:
        return {key[0] for key in self._runs}
