"""The last minutes of readings in memory, for the dashboard and the exporters.

Row after row of packed numbers per metric (4 bytes a gauge, 8 a counter): 128 cores x 10 metrics at 1 Hz are 6 MB for a
quarter of an hour. A 4-byte number keeps 24 bits, finer than the resolution of every gauge; the latest value is exact.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from neuronwatch.model.live import Reading
from neuronwatch.store.frames import NAN, NOT_READ, Row, Splitter, code_of, floats

_ROWS_A_SECOND = 4
_CLEAN_EVERY = 60.0
_DISORDER = 5.0
"""Seconds by which deliveries of two sources may pass each other. More is a clock that was set back."""


class Point(NamedTuple):
    """The newest reading: `value` None is absent, `reason` says why; `time` in seconds since the epoch."""

    time: float
    value: float | None
    reason: str
    source: str


class Absence(NamedTuple):
    """`first` to `last`: indices of the times (both included) at which an entity has no value."""

    first: int
    last: int
    reason: str


class Series(NamedTuple):
    """Columns of one metric: `columns[entity][i]` was read at `times[i]`, NaN where absent; `absences` says why."""

    times: array[float]
    columns: dict[str, array[float]]
    absences: dict[str, list[Absence]]


class _Frame(NamedTuple):
    time: float
    entities: tuple[str, ...]
    values: array[float]
    reasons: tuple[str, ...] | None


class _Table:
    """The frames of one metric, oldest first."""

    def __init__(self, metric: str, rows: int) -> None:
        self.code = code_of(metric)
        self.frames: deque[_Frame] = deque(maxlen=rows)
        self.newest: dict[str, tuple[float, Row]] = {}
        """By source, with exact values."""
        self._packed: dict[str, array[float]] = {}
        """The values of the newest row of each source."""

    def add(self, time: float, row: Row, source: str, horizon: float) -> None:
        frames = self.frames
        while frames and frames[-1].time > time + _DISORDER:
            frames.pop()  # the clock went back: what it told is not later than now
        reasons = row.reasons
        if reasons is not None and frames and frames[-1].reasons == reasons:
            reasons = frames[-1].reasons  # one object for a long absence
        before = self.newest.get(source)
        if before is not None and source in self._packed and before[1].values == row.values:
            packed = self._packed[source]  # most memory stands still: one array for all that time
        else:
            packed = self._packed[source] = floats(self.code, row.values)
        frames.append(_Frame(time, row.entities, packed, reasons))
        self.newest[source] = (time, row)
        self.forget(horizon)

    def drop(self, source: str) -> None:
        del self.newest[source]
        self._packed.pop(source, None)

    def forget(self, horizon: float) -> None:
        while self.frames and self.frames[0].time < horizon:
            self.frames.popleft()


class Ring:
    """The last `minutes` of every metric and entity. One thread uses it."""

    def __init__(self, minutes: float = 15.0, splitter: Splitter | None = None) -> None:
        self.seconds = minutes * 60.0
        self._splitter = splitter or Splitter()
        self._tables: dict[str, _Table] = {}
        self._cleaned = 0.0

    def add(self, readings: Sequence[Reading], time: float, source: str = "") -> None:
        """Takes what `source` read at `time`. What it read before of the same metrics is no longer the latest."""
        horizon = time - self.seconds
        for row in self._splitter.split(readings):
            table = self._tables.get(row.metric)
            if table is None:
                rows = max(1, int(self.seconds * _ROWS_A_SECOND))
                table = self._tables[row.metric] = _Table(row.metric, rows)
            table.add(time, row, source, horizon)
        if abs(time - self._cleaned) >= _CLEAN_EVERY:
            self._cleaned = time
            self._clean(time)

    def _clean(self, time: float) -> None:
        """Forgets metrics that nobody reads any more."""
        for metric, table in list(self._tables.items()):
            table.forget(time - self.seconds)
            for source, (when, _) in list(table.newest.items()):
                if abs(time - when) > self.seconds:
                    table.drop(source)
            if not table.frames and not table.newest:
                del self._tables[metric]

    def metrics(self) -> list[str]:
        """The metrics of which there is anything."""
        return sorted(self._tables)

    def latest(self, metric: str) -> dict[str, Point]:
        """Per entity the newest reading, however old: the caller compares `time` with the clock and the source's health."""
        table = self._tables.get(metric)
        points: dict[str, Point] = {}
        if table is None:
            return points
        for source, (time, row) in sorted(table.newest.items(), key=lambda item: item[1][0]):
            reasons = row.reasons or ("",) * len(row.entities)
            for entity, value, reason in zip(row.entities, row.values, reasons, strict=True):
                points[entity] = Point(time, None if reason else value, reason, source)
        return points

    def series(self, metric: str, entities: Iterable[str] | None = None, since: float = 0.0) -> Series:
        """The columns of `entities` (None: all that were read) from `since` on (excluded), oldest first."""
        table = self._tables.get(metric)
        frames = [frame for frame in table.frames if frame.time > since] if table is not None else []
        frames.sort(key=_time)
        code = table.code if table is not None else "f"
        wanted = list(dict.fromkeys(entities)) if entities is not None else _union(frames)
        columns = {entity: floats(code) for entity in wanted}
        absences: dict[str, list[Absence]] = {}
        start = 0
        for group in _groups(frames):
            part = _columns(group, code)
            some_absent = any(frame.reasons is not None for frame in group)
            for entity in wanted:
                column = part.get(entity)
                if column is None:
                    columns[entity].extend(floats(code, [NAN]) * len(group))
                    _run(absences, entity, start, start + len(group) - 1, NOT_READ)
                    continue
                columns[entity].extend(column)
                if some_absent:
                    _tell(absences, entity, group, start)
            start += len(group)
        return Series(array("d", [frame.time for frame in frames]), columns, absences)


def _time(frame: _Frame) -> float:
    return frame.time


def _union(frames: Iterable[_Frame]) -> list[str]:
    seen: dict[str, None] = {}
    last: tuple[str, ...] | None = None
    for frame in frames:
        if frame.entities is not last:
            last = frame.entities
            seen.update(dict.fromkeys(last))
    return list(seen)


def _groups(frames: Sequence[_Frame]) -> list[list[_Frame]]:
    """Consecutive frames of one shape."""
    groups: list[list[_Frame]] = []
    for frame in frames:
        if groups and (groups[-1][0].entities is frame.entities):
            groups[-1].append(frame)
        else:
            groups.append([frame])
    return groups


def _columns(group: list[_Frame], code: str) -> dict[str, array[float]]:
    flat = floats(code)
    flat.frombytes(b"".join([frame.values.tobytes() for frame in group]))
    entities = group[0].entities
    return {entity: flat[index :: len(entities)] for index, entity in enumerate(entities)}


def _tell(absences: dict[str, list[Absence]], entity: str, group: list[_Frame], start: int) -> None:
    """Adds the runs of absence of one entity in a group whose first row is number `start`."""
    index = group[0].entities.index(entity)
    for offset, frame in enumerate(group):
        if frame.reasons is not None and frame.reasons[index]:
            _run(absences, entity, start + offset, start + offset, frame.reasons[index])


def _run(absences: dict[str, list[Absence]], entity: str, first: int, last: int, reason: str) -> None:
    runs = absences.setdefault(entity, [])
    if runs and runs[-1].reason == reason and runs[-1].last == first - 1:
        runs[-1] = Absence(runs[-1].first, last, reason)
    else:
        runs.append(Absence(first, last, reason))
