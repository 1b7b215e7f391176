"""The last minutes of readings in memory, for the dashboard and the exporters.

Row after row of packed numbers per metric (4 bytes a gauge, 8 a counter); what is older than two minutes is compressed. A 4-byte
number keeps 24 bits, finer than the resolution of every gauge; the latest value is exact.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from neuronwatch.model.live import Reading
from neuronwatch.store.frames import NAN, NOT_READ, Row, Splitter, code_of, floats
from neuronwatch.store.packed_rows import ROWS, Frame, Pack

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


class _Table:
    """The frames of one metric, oldest first: packed ones, then those of the last minutes. At most `rows` of them."""

    def __init__(self, metric: str, rows: int) -> None:
        self.code = code_of(metric)
        self._rows = rows
        self._packs: deque[Pack] = deque()
        self._frames: deque[Frame] = deque()
        self._packed = 0
        self._horizon = 0.0
        self.newest: dict[str, tuple[float, Row]] = {}
        """By source, with exact values."""

    def add(self, time: float, row: Row, source: str, horizon: float) -> None:
        frames = self._frames
        self._back_to(time + _DISORDER)
        reasons = row.reasons
        if reasons is not None and frames and frames[-1].reasons == reasons:
            reasons = frames[-1].reasons  # one object for a long absence
        frames.append(Frame(time, row.entities, floats(self.code, row.values), reasons))
        self.newest[source] = (time, row)
        if len(frames) >= 2 * ROWS:
            self._pack()
        self.forget(horizon)

    def _back_to(self, time: float) -> None:
        """The clock went back: what it told after `time` is not later than now."""
        frames = self._frames
        while True:
            while frames and frames[-1].time > time:
                frames.pop()
            if frames or not self._packs or self._packs[-1].newest <= time:
                return
            pack = self._packs.pop()
            self._packed -= len(pack)
            frames.extend(pack.frames())

    def _pack(self) -> None:
        frames = self._frames
        shape, group = frames[0].entities, [frames.popleft()]
        while len(group) < ROWS and frames[0].entities is shape:
            group.append(frames.popleft())
        self._packs.append(Pack(group))
        self._packed += len(group)

    def forget(self, horizon: float) -> None:
        self._horizon = horizon
        packs, frames = self._packs, self._frames
        while packs and (packs[0].newest < horizon or self._packed + len(frames) > self._rows):
            self._packed -= len(packs.popleft())
        while frames and not packs and (frames[0].time < horizon or len(frames) > self._rows):
            frames.popleft()

    def after(self, since: float, until: float = inf) -> list[Frame]:
        """The frames later than `since` and not later than `until`, by time."""
        low = self._horizon
        packs = [pack for pack in self._packs if pack.newest > since and pack.times[0] <= until + _DISORDER]
        found = [frame for pack in packs for frame in pack.frames()]
        found = [frame for frame in (*found, *self._frames) if since < frame.time <= until and frame.time >= low]
        found.sort(key=_time)
        return found

    @property
    def empty(self) -> bool:
        return not self._packs and not self._frames and not self.newest


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
                    del table.newest[source]
            if table.empty:
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

    def at(self, metric: str, time: float, reach: float) -> dict[str, Point]:
        """Per entity its reading at `time`: the last one in the `reach` seconds before it. Without sources."""
        table = self._tables.get(metric)
        points: dict[str, Point] = {}
        shapes: set[int] = set()
        for frame in reversed(table.after(time - reach, time) if table is not None else []):
            if id(frame.entities) in shapes:
                continue  # a later one of these entities was taken
            shapes.add(id(frame.entities))
            reasons = frame.reasons or ("",) * len(frame.entities)
            for entity, value, reason in zip(frame.entities, frame.values, reasons, strict=True):
                points.setdefault(entity, Point(frame.time, None if reason else value, reason, ""))
        return points

    def series(self, metric: str, entities: Iterable[str] | None = None, since: float = 0.0, until: float = inf) -> Series:
        """The columns of `entities` (None: all that were read) from `since` on (excluded) until `until`, oldest first."""
        table = self._tables.get(metric)
        frames = table.after(since, until) if table is not None else []
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


def _time(frame: Frame) -> float:
    return frame.time


def _union(frames: Iterable[Frame]) -> list[str]:
    seen: dict[str, None] = {}
    last: tuple[str, ...] | None = None
    for frame in frames:
        if frame.entities is not last:
            last = frame.entities
            seen.update(dict.fromkeys(last))
    return list(seen)


def _groups(frames: Sequence[Frame]) -> list[list[Frame]]:
    """Consecutive frames of one shape."""
    groups: list[list[Frame]] = []
    for frame in frames:
        if groups and (groups[-1][0].entities is frame.entities):
            groups[-1].append(frame)
        else:
            groups.append([frame])
    return groups


def _columns(group: list[Frame], code: str) -> dict[str, array[float]]:
    flat = floats(code)
    flat.frombytes(b"".join([frame.values.tobytes() for frame in group]))
    entities = group[0].entities
    return {entity: flat[index :: len(entities)] for index, entity in enumerate(entities)}


def _tell(absences: dict[str, list[Absence]], entity: str, group: list[Frame], start: int) -> None:
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
