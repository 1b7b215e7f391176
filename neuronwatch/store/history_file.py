"""The tables of the history and what is done to them: parts, blocks, retention.

Every few seconds the new rows of each metric are a part; when a window of 300 s is over, its parts become one block in one
transaction. Both have the same form, so that a reader sees both, and after a crash the parts that are there become a block as
if nothing had happened.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from neuronwatch.store import block as blocks
from neuronwatch.store import database
from neuronwatch.store.block import Block, Damaged, Record
from neuronwatch.store.frames import code_of, step_of

FILE = "history.sqlite"
WINDOW = 300.0
"""Seconds of a block."""
TICKS = round(WINDOW / blocks.TICK)
_SHIFT = 40
_TOGETHER = 16
_TICK_MASK = (1 << _SHIFT) - 1

SCHEMA = database.Schema(
    1,
    (
        "CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "CREATE TABLE shape (id INTEGER PRIMARY KEY AUTOINCREMENT, entities TEXT NOT NULL UNIQUE)",
        # span.id = metric << 40 | tick of the first row: one metric is one range of keys, in order of time.
        "CREATE TABLE span (id INTEGER PRIMARY KEY, stop INTEGER NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL,"
        " shape INTEGER NOT NULL, rows INTEGER NOT NULL, step REAL NOT NULL, code TEXT NOT NULL, absences TEXT, counts BLOB,"
        " stats BLOB NOT NULL)",
        "CREATE INDEX span_sequence ON span (sequence)",
        "CREATE INDEX span_shape ON span (shape)",
        "CREATE INDEX span_part ON span (id) WHERE part",
        "CREATE TABLE block (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    ),
)


def key(metric: int, tick: int) -> int:
    return metric << _SHIFT | max(0, min(tick, _TICK_MASK))


def tick_of(span: int) -> int:
    return span & _TICK_MASK


def window_of(tick: int) -> int:
    return tick // TICKS


class Absent(NamedTuple):
    """Several columns that were absent together from tick `first` to `last`."""

    reason: str
    first: int
    last: int
    columns: Sequence[int]


def absences_text(block: Block) -> str | None:
    """As JSON [[reason, first tick, last tick, [[column, column], ...]], ...], runs of columns with both ends."""
    if not block.absences:
        return None
    together: dict[tuple[str, int, int], list[int]] = {}
    for item in block.absences:
        together.setdefault((item.reason, block.ticks[item.first], block.ticks[item.last]), []).append(item.column)
    told = [[reason, first, last, _ranges(columns)] for (reason, first, last), columns in together.items()]
    return json.dumps(told, separators=(",", ":"))


def _ranges(columns: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for column in sorted(columns):
        if runs and runs[-1][1] == column - 1:
            runs[-1][1] = column
        else:
            runs.append([column, column])
    return runs


def absences_of(text: str) -> Iterator[Absent]:
    """What `absences_text` told. Raises ValueError and TypeError; columns are cut at what a shape can have."""
    for reason, first, last, runs in json.loads(text):
        columns = [column for start, end in runs for column in range(int(start), min(int(end), 65535) + 1)]
        yield Absent(str(reason), int(first), int(last), columns)


class File:
    """The history's tables, for the one writer. All methods raise sqlite3.Error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._metrics: dict[str, int] = {}
        self._shapes: dict[tuple[str, ...], int] = {}
        self._growing: set[tuple[int, int]] = set()
        """Metrics and windows of the newest parts. A source whose clock is another's window behind goes on in its own."""
        self.damaged = 0
        """Blocks that could not be read again."""
        (sequence,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM span").fetchone()
        if not isinstance(sequence, int):
            raise database.Damage("file has values of the wrong type")
        self._sequence = sequence

    def write_parts(self, rows: dict[str, list[Record]]) -> None:
        """One part per metric and window, all in one transaction."""
        self._growing = set()
        self._shapes.clear()  # retention may have removed rows that nothing used
        with self._transaction():
            for metric, records in rows.items():
                number = self._metric(metric)
                for group in _by_window(records):
                    self._put(number, metric, *_gathered(group), part=True)
                    self._growing.add((number, window_of(group[0].tick)))

    @contextlib.contextmanager
    def _transaction(self, durable: bool = False) -> Iterator[None]:
        """What was numbered in a transaction that failed has no number."""
        try:
            with database.transaction(self._db, durable):
                yield
        except BaseException:
            self._metrics.clear()
            self._shapes.clear()
            raise

    def _metric(self, name: str) -> int:
        number = self._metrics.get(name)
        if number is None:
            self._db.execute("INSERT OR IGNORE INTO metric (name) VALUES (?)", (name,))
            number = self._metrics[name] = self._one("SELECT id FROM metric WHERE name = ?", name)
        return number

    def _shape(self, entities: tuple[str, ...]) -> int:
        number = self._shapes.get(entities)
        if number is None:
            text = json.dumps(entities, ensure_ascii=True, separators=(",", ":"))
            self._db.execute("INSERT OR IGNORE INTO shape (entities) VALUES (?)", (text,))
            number = self._shapes[entities] = self._one("SELECT id FROM shape WHERE entities = ?", text)
        return number

    def _one(self, question: str, value: str) -> int:
        """A number that is there in an intact file."""
        row = self._db.execute(question, (value,)).fetchone()
        if row is None or not isinstance(row[0], int):
            raise database.Damage("file has values of the wrong type")
        return row[0]

    def _put(self, number: int, metric: str, block: Block, entities: tuple[str, ...], part: bool) -> None:
        code = code_of(metric)
        shown = blocks.stats(block, step_of(metric), code)
        span = key(number, block.ticks[0])
        while self._db.execute("SELECT 1 FROM span WHERE id = ?", (span,)).fetchone():
            span += 1  # the clock told this time before
        self._sequence += 1
        counts = shown.counts.tobytes() if shown.counts is not None else None
        self._db.execute(
            "INSERT INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (span, block.ticks[-1], self._sequence, part, self._shape(entities), len(block.ticks), step_of(metric), code,
             absences_text(block), counts, b"".join(column.tobytes() for column in (shown.low, shown.high, shown.mean))),
        )  # fmt: skip
        self._db.execute("INSERT OR REPLACE INTO block VALUES (?, ?)", (span, blocks.encode(block)))

    def seal(self, now: int, limit: int = 1000) -> int:
        """Makes blocks of the parts of all windows but that of tick `now` and those that have just grown, at most `limit`, some in
        one transaction (an fsync waits for the disk). Returns how many."""
        groups: dict[tuple[int, int], list[int]] = {}
        for (span,) in self._db.execute("SELECT id FROM span WHERE part ORDER BY id"):
            place = (span >> _SHIFT, window_of(tick_of(span)))
            if place[1] != window_of(now) and place not in self._growing:
                groups.setdefault(place, []).append(span)
        self._growing = set()
        chosen = list(groups.items())[:limit]
        for first in range(0, len(chosen), _TOGETHER):
            with self._transaction(durable=True):
                for (metric, _), spans in chosen[first : first + _TOGETHER]:
                    self._seal(metric, spans)
        return len(chosen)

    def _seal(self, metric: int, spans: list[int]) -> None:
        row = self._db.execute("SELECT name FROM metric WHERE id = ?", (metric,)).fetchone()
        parts = [part for part in map(self._part, spans) if part is not None]
        self._delete(spans)
        if parts and row is not None:
            self._put(metric, str(row[0]), *_joined(parts), part=False)

    def _part(self, span: int) -> tuple[Block, tuple[str, ...]] | None:
        """One part in its metric's step of today (the catalogue may have changed with an upgrade)."""
        found = self._db.execute(
            "SELECT entities, data, step, name FROM span JOIN shape ON shape.id = span.shape JOIN block USING (id)"
            f" JOIN metric ON metric.id = span.id >> {_SHIFT} WHERE span.id = ?",
            (span,),
        ).fetchone()
        try:
            if found is None:
                raise Damaged("its tables do not belong together")
            entities, block = shape_from(found[0]), blocks.decode(found[1])
            if len(entities) != len(block.columns):
                raise Damaged("it has another shape")
        except Damaged:
            self.damaged += 1
            return None
        scale = found[2] / step_of(found[3])
        if scale != 1.0:
            scaled = [array("q", [round(number * scale) for number in column]) for column in block.columns]
            block = block._replace(columns=scaled)
        return block, entities

    def _delete(self, spans: Iterable[int]) -> None:
        ids = [(span,) for span in spans]
        self._db.executemany("DELETE FROM span WHERE id = ?", ids)
        self._db.executemany("DELETE FROM block WHERE id = ?", ids)

    def expire(self, before: int, limit: int) -> int:
        """Removes what ended before a tick: the oldest written ones, at most `limit`, and stops at the first that is
        younger. Returns how many."""
        rows = self._db.execute("SELECT id, stop FROM span WHERE NOT part ORDER BY sequence LIMIT ?", (limit,)).fetchall()
        old = []
        for span, stop in rows:
            if stop >= before:
                break
            old.append(span)
        return self._drop(old)

    def shrink(self, count: int) -> int:
        """Removes the `count` blocks that were written first."""
        rows = self._db.execute("SELECT id FROM span WHERE NOT part ORDER BY sequence LIMIT ?", (count,)).fetchall()
        return self._drop([span for (span,) in rows])

    def _drop(self, spans: list[int]) -> int:
        if spans:
            with self._transaction():
                self._delete(spans)
                self._db.execute("DELETE FROM shape WHERE NOT EXISTS (SELECT 1 FROM span WHERE span.shape = shape.id)")
            self._shapes.clear()
        return len(spans)

    def used_bytes(self) -> int:
        return database.used_bytes(self._db)

    def make_room(self, size: int, count: int) -> None:
        """Removes the `count` oldest blocks where the file has less than `size` bytes of free pages."""
        if database.room(self._db) < size:
            self.shrink(count)

    def vacuum(self) -> None:
        database.vacuum(self._db)

    def forget_pages(self) -> None:
        """Gives back the memory of pages that were read to make blocks."""
        self._db.execute("PRAGMA shrink_memory")


def shape_from(text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged("its shape cannot be read") from error
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise Damaged("its shape cannot be read")
    return tuple(found)


def _tick(record: Record) -> int:
    return record.tick


def _by_window(records: Sequence[Record]) -> list[list[Record]]:
    groups: dict[int, list[Record]] = {}
    for record in records:
        groups.setdefault(window_of(record.tick), []).append(record)
    return list(groups.values())


def _gathered(records: list[Record]) -> tuple[Block, tuple[str, ...]]:
    records.sort(key=_tick)
    entities = blocks.shape_of(records)
    return blocks.gather(records, entities), entities


def _joined(parts: list[tuple[Block, tuple[str, ...]]]) -> tuple[Block, tuple[str, ...]]:
    """Parts as one block. In the ordinary case they have one shape and follow each other."""
    first = parts[0][1]
    ordered = all(one.ticks[-1] <= two.ticks[0] for (one, _), (two, _) in pairwise(parts))
    if ordered and all(entities == first for _, entities in parts):
        return blocks.join([block for block, _ in parts]), first
    return _gathered([record for block, entities in parts for record in _records(block, entities)])


def _records(block: Block, entities: tuple[str, ...]) -> list[Record]:
    """The block's rows."""
    reasons: dict[int, list[str]] = {}
    for column, first, last, reason in block.absences:
        for row in range(first, last + 1):
            reasons.setdefault(row, [""] * len(entities))[column] = reason
    return [
        Record(tick, entities, array("q", numbers), tuple(reasons[row]) if row in reasons else None)
        for row, (tick, numbers) in enumerate(zip(block.ticks, zip(*block.columns, strict=True), strict=True))
    ]
