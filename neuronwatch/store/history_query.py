"""Reading the history: smallest, largest and mean value per interval, from this process or a second one while the daemon writes."""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from neuronwatch.store import block as blocks
from neuronwatch.store import database
from neuronwatch.store import history_file as files
from neuronwatch.store.block import TICK, Damaged
from neuronwatch.store.coarse import Column, Shown, coarse
from neuronwatch.store.errors import StoreError
from neuronwatch.store.frames import NAN, NOT_READ, code_of, floats

MAX_POINTS = 10_000
MAX_GAPS = 5_000
_ADJACENT = 15.0
"""Seconds between two absences for the same reason that are shown as one."""
_T = TypeVar("_T")
_FINE_CELLS = 200_000
"""Up to this many cells are decoded for intervals shorter than a block (50 ms); beyond it a block's statistics stand for all
intervals in it."""


class Gap(NamedTuple):
    """`entity` had no value from `start` to `end` (seconds since the epoch)."""

    entity: str
    start: float
    end: float
    reason: str


class Result(NamedTuple):
    """Interval i is `times[i]` to `times[i] + width` seconds. `gaps`: absent values that were told, with their reasons (the
    first MAX_GAPS); an interval without value and gap is one in which nothing ran. `damaged`: blocks that could not be read."""

    times: array[float]
    width: float
    columns: dict[str, Column]
    gaps: list[Gap]
    damaged: int = 0


class _Span(NamedTuple):
    id: int
    stop: int
    shape: int
    rows: int
    step: float
    code: str
    absences: str | None
    counts: bytes | None
    stats: bytes


class Reader:
    """The history of a state directory. Raises StoreError when it is not there, newer or damaged. One thread uses it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / files.FILE
        self._db = database.open_reader(self.path, files.SCHEMA)
        self._shapes: dict[int, tuple[str, ...]] = {}

    def close(self) -> None:
        self._db.close()

    def metrics(self) -> list[str]:
        """The metrics of which there ever was anything."""
        return self._asked(lambda: sorted(name for (name,) in self._db.execute("SELECT name FROM metric")))

    def entities(self, metric: str, start: float, end: float) -> list[str]:
        """The entities of a metric in a time, in their own order."""
        shapes = dict.fromkeys(span.shape for span in self._asked(lambda: self._spans(metric, start, end)))
        return list(dict.fromkeys(entity for shape in shapes for entity in self._shape(shape)))

    def query(self, metric: str, entities: Iterable[str] | None, start: float, end: float, points: int = 288) -> Result:
        """Columns from `start` to `end` in at most `points` (+1) equal intervals. Intervals of 300 s and more are whole
        multiples of it and begin on it. `entities` None: all."""
        if not (math.isfinite(start) and math.isfinite(end)) or end <= start:
            return Result(array("d"), 0.0, {}, [])
        points = max(1, min(points, MAX_POINTS))
        width = max((end - start) / points, TICK)
        wanted = list(dict.fromkeys(entities)) if entities is not None else None
        return self._asked(lambda: self._query(metric, wanted, start, end, width))

    def _query(self, metric: str, wanted: list[str] | None, start: float, end: float, width: float) -> Result:
        spans = self._spans(metric, start, end)
        shapes = {span.shape: self._shape(span.shape) for span in spans}
        union = tuple(dict.fromkeys(entity for shape in shapes.values() for entity in shape))
        wanted = list(union) if wanted is None else wanted
        code = spans[0].code if spans else code_of(metric)
        gaps = _gaps(spans, shapes, set(wanted))
        if width >= files.WINDOW - 1:
            width = math.ceil(width / files.WINDOW - 0.01) * files.WINDOW
            start = math.floor(start / files.WINDOW) * files.WINDOW
        times = array("d", [start + width * index for index in range(math.ceil((end - start) / width))])
        cells = sum(span.rows for span in spans) * len(wanted)
        if width < files.WINDOW and cells <= _FINE_CELLS:
            columns, damaged = self._fine(spans, wanted, (start, width, len(times)), code)
            return Result(times, width, columns, gaps, damaged)
        together: list[list[Shown]] = [[] for _ in times]
        for span in spans:
            shown = Shown.of(span.stats, span.code, span.counts, span.rows, shapes[span.shape], union, code)
            for index in _touched(span, start, width, len(times)):
                together[index].append(shown)
        return Result(times, width, coarse(together, union, wanted, code), gaps)

    def _asked(self, question: Callable[[], _T]) -> _T:
        """The answer from one state of the file, whatever the writer does meanwhile."""
        try:
            self._db.execute("BEGIN")
            try:
                return question()
            finally:
                self._db.execute("COMMIT")
        except (sqlite3.Error, Damaged, ValueError, TypeError) as error:
            raise StoreError(f"{self.path} cannot be read: {error}", "the daemon sets a damaged file aside") from error

    def _spans(self, metric: str, start: float, end: float) -> list[_Span]:
        found = self._db.execute("SELECT id FROM metric WHERE name = ?", (metric,)).fetchone()
        if found is None:
            return []
        first, last = round(start / TICK), math.ceil(end / TICK) - 1
        rows = self._db.execute(
            "SELECT id, stop, shape, rows, step, code, absences, counts, stats FROM span"
            " WHERE id BETWEEN ? AND ? AND stop >= ? ORDER BY id",
            (files.key(found[0], first - files.TICKS), files.key(found[0], last), first),
        )
        return [_Span(*row) for row in rows]

    def _shape(self, number: int) -> tuple[str, ...]:
        shape = self._shapes.get(number)
        if shape is None:
            row = self._db.execute("SELECT entities FROM shape WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise Damaged("a shape is missing")
            if len(self._shapes) > 1000:
                self._shapes.clear()
            shape = self._shapes[number] = files.shape_from(row[0])
        return shape

    def _fine(
        self, spans: Sequence[_Span], wanted: Sequence[str], grid: tuple[float, float, int], code: str
    ) -> tuple[dict[str, Column], int]:
        """Columns of intervals shorter than a block, from the rows themselves."""
        start, width, count = grid
        sums = {entity: _Sums(count) for entity in wanted}
        damaged = 0
        for span in spans:
            try:
                shape = self._shape(span.shape)
                block = self._block(span, [column for column, entity in enumerate(shape) if entity in sums])
            except Damaged:
                damaged += 1
                continue
            segments = _segments(block.ticks, start, width, count)
            absent: dict[int, set[int]] = {}
            for column, first, last, _ in block.absences:
                absent.setdefault(column, set()).update(range(first, last + 1))
            for column, (entity, cells) in enumerate(zip(shape, block.columns, strict=True)):
                if entity in sums:
                    sums[entity].add(cells, segments, absent.get(column), span.step)
        return {entity: found.column(code) for entity, found in sums.items()}, damaged

    def _block(self, span: _Span, only: Sequence[int]) -> blocks.Block:
        row = self._db.execute("SELECT data FROM block WHERE id = ?", (span.id,)).fetchone()
        if row is None:
            raise Damaged("a block is missing")
        block = blocks.decode(row[0], only)
        if len(block.columns) != len(self._shape(span.shape)):
            raise Damaged("a block of another shape")
        return block


class _Sums:
    """What an entity's intervals gathered so far."""

    def __init__(self, count: int) -> None:
        self.low = [math.inf] * count
        self.high = [-math.inf] * count
        self.total = [0.0] * count
        self.number = [0] * count

    def add(self, cells: array[int], segments: list[tuple[int, int, int]], absent: set[int] | None, step: float) -> None:
        for index, first, last in segments:
            part: Sequence[int] = cells[first:last]
            if absent:
                part = [cells[row] for row in range(first, last) if row not in absent]
            if part:
                self.low[index] = min(self.low[index], min(part) * step)
                self.high[index] = max(self.high[index], max(part) * step)
                self.total[index] += sum(part) * step
                self.number[index] += len(part)

    def column(self, code: str) -> Column:
        def only(values: Sequence[float]) -> array[float]:
            return floats(code, [value if number else NAN for value, number in zip(values, self.number, strict=True)])

        mean = [total / number if number else NAN for total, number in zip(self.total, self.number, strict=True)]
        return Column(only(self.low), only(self.high), floats(code, mean))


def _segments(ticks: Sequence[int], start: float, width: float, count: int) -> list[tuple[int, int, int]]:
    """(interval, first row, row after the last) of consecutive rows that fall into one interval."""
    segments: list[tuple[int, int, int]] = []
    for row, tick in enumerate(ticks):
        index = math.floor((tick * TICK - start) / width + 1e-6)
        if not 0 <= index < count:
            continue
        if segments and segments[-1][0] == index and segments[-1][2] == row:
            segments[-1] = (index, segments[-1][1], row + 1)
        else:
            segments.append((index, row, row + 1))
    return segments


def _touched(span: _Span, start: float, width: float, count: int) -> range:
    """The intervals that a span belongs to: that of its window, or, where they are shorter, all that it overlaps."""
    first = files.tick_of(span.id) * TICK
    if width >= files.WINDOW:
        index = math.floor((files.window_of(files.tick_of(span.id)) * files.WINDOW - start) / width + 1e-9)
        return range(index, index + 1) if 0 <= index < count else range(0)
    low, high = math.floor((first - start) / width), math.floor((span.stop * TICK - start) / width)
    return range(max(0, low), min(count - 1, high) + 1)


def _gaps(spans: Sequence[_Span], shapes: Mapping[int, tuple[str, ...]], wanted: set[str]) -> list[Gap]:
    """The absences of the wanted entities in order of time; those that follow each other for one reason are one."""
    gaps: list[Gap] = []
    last: dict[str, int] = {}
    for span in spans:
        if not span.absences:
            continue
        shape = shapes[span.shape]
        for absent in sorted(files.absences_of(span.absences), key=lambda item: item.first):
            if absent.reason == NOT_READ:
                continue
            start, end = absent.first * TICK, absent.last * TICK
            for entity in [shape[column] for column in absent.columns if column < len(shape)]:
                if entity not in wanted:
                    continue
                before = gaps[last[entity]] if entity in last else None
                if before is not None and before.reason == absent.reason and start - before.end <= _ADJACENT:
                    gaps[last[entity]] = before._replace(end=max(end, before.end))
                elif len(gaps) >= MAX_GAPS:
                    return gaps
                else:
                    last[entity] = len(gaps)
                    gaps.append(Gap(entity, start, end, absent.reason))
    return gaps
