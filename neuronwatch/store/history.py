"""The history on disk: every reading for weeks, in one SQLite file.

`add` only remembers; a thread of its own writes, so that a slow or hung disk never makes the caller wait. What is written when:

- every 10 s the new rows become a part: kill -9 loses at most the last 10 s;
- when a window of 300 s is over its parts become one block, with an fsync: a power loss loses at most the current window.

A full disk, an error or a damaged file is a state (`health`), not an end: rows wait in memory (bounded; the oldest are
dropped and counted), each flush tries again, a damaged file is set aside under another name and a new one begun.

A clock that went back gives blocks beside those of the first pass: a query shows both as one. One that went forward leaves a gap.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.live import Reading
from neuronwatch.store import block as blocks
from neuronwatch.store import database
from neuronwatch.store.block import TICK, Record
from neuronwatch.store.frames import Row, Splitter, step_of
from neuronwatch.store.history_file import FILE, SCHEMA, File
from neuronwatch.store.keeper import Keeper, KeeperState, Worker

if TYPE_CHECKING:
    from neuronwatch.store.history_query import Reader, Result

FLUSH_SECONDS = 10.0
_WAITING_CELLS = 1_200_000
"""Numbers that wait in memory while the disk takes none (8 bytes each): 15 minutes of 128 cores x 10 metrics."""
_EXPIRED_PER_BLOCK = 2
"""Age removes at most so many blocks for each new one, so that a clock far in the future does not empty the history."""
_SHRUNK = 64
_LATE = 1000
_ROOM = 512 * 1024
_ROOM_BLOCKS = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """`days`: age at which blocks go. `size`: bytes of the file. `reserve`: free bytes of the disk that are left to others.
    `least`: where the disk has no room, new rows take the place of old ones only above this size; below they wait."""

    days: float = 30.0
    size: int = 2 * 1024**3
    reserve: int = 32 * 1024 * 1024
    least: int = 16 * 1024 * 1024


class HistoryHealth(NamedTuple):
    """`state` ok: the last flush was written; full: the disk has no room; failed: `reason` says why. `since`: when the state
    began. `waiting`: rows in memory, `lost`: rows dropped, `damaged`: blocks that could not be read again, `left_out`: entities
    beyond what a row holds, `size`: bytes in use, `aside`: damaged files that were set aside."""

    state: KeeperState
    reason: str
    since: float
    waiting: int
    lost: int
    damaged: int
    left_out: int
    size: int
    aside: tuple[Path, ...]


class History:
    """The one writer of a state directory's history. `add`, `query` and `health` come from one thread."""

    def __init__(self, directory: Path, now: float, limits: Limits, threaded: bool, splitter: Splitter | None) -> None:
        self._directory = directory
        self._limits = limits
        self._splitter = splitter or Splitter()
        self._rows: dict[str, list[Record]] = {}
        self._last: dict[str, tuple[Row, Record]] = {}
        """The newest row of each metric, and what became of it."""
        self._flushed = now
        self._behind: float | None = None
        """First time of readings from before the last flush."""
        self._late = 0
        self._reader: Reader | None = None
        self._reader_of = 0
        self._writer = _Writer(directory, limits, now)
        self._worker = Worker(self._writer.work, self._writer.keeper.close, "history") if threaded else None

    @classmethod
    def open(
        cls, directory: Path, now: float, limits: Limits | None = None, threaded: bool = True, splitter: Splitter | None = None
    ) -> History:
        """Opens or makes the history in a state directory. `splitter`: one that a ring shares. `threaded` False: writes are
        done inside `add`. Raises StoreError (not writable, a newer schema)."""
        return cls(directory, now, limits or Limits(), threaded, splitter)

    def add(self, readings: Sequence[Reading], time: float) -> None:
        """Takes the readings of one moment (seconds since the epoch); none at all only let the time go on."""
        for row in self._splitter.split(readings):
            records = self._rows.setdefault(row.metric, [])
            last = self._last.get(row.metric)
            if last is not None and last[0].values == row.values and last[0] == row:  # most memory stands still
                records.append(last[1]._replace(tick=round(time / TICK)))
                continue
            record = _record(row, time)
            records.append(record)
            self._last[row.metric] = (row, record)
        if self._is_due(time):
            self._flush(time)

    def _is_due(self, time: float) -> bool:
        """Whether the last flush is long enough ago. A single source that tells of before has no say in it; where all do, the
        clock was set back."""
        if time >= self._flushed:
            return time - self._flushed >= FLUSH_SECONDS
        if self._behind is None or time < self._behind:
            self._behind = time
        self._late += 1
        return time - self._behind >= FLUSH_SECONDS or self._late >= _LATE

    def _flush(self, time: float) -> None:
        self._flushed, self._behind, self._late = time, None, 0
        rows, self._rows = self._rows, {}
        self._writer.take(rows)
        if self._worker is not None:
            self._worker.call(time)
        else:
            self._writer.work(time)

    def query(self, metric: str, entities: Iterable[str] | None, start: float, end: float, points: int = 288) -> Result:
        """As `Reader.query`: what was flushed, up to 10 s ago. The ring has what is newer. Raises StoreError."""
        if self._reader is None or self._reader_of != self._writer.keeper.generation:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._reader_of = self._writer.keeper.generation
            from neuronwatch.store.history_query import Reader  # loaded when the past is asked for

            self._reader = Reader(self._directory)
        return self._reader.query(metric, entities, start, end, points)

    def health(self) -> HistoryHealth:
        waiting = sum(len(rows) for rows in self._rows.values())
        return self._writer.health(waiting, self._splitter.left_out)

    def close(self, timeout: float = 5.0) -> bool:
        """Writes what waits and closes. False: the disk did not answer within `timeout` seconds."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._writer.keeper.state == "closed":
            return True
        self._flush(self._flushed)
        if self._worker is not None:
            return self._worker.end(timeout)
        self._writer.keeper.close()
        return True


def _record(row: Row, time: float) -> Record:
    step, reasons = step_of(row.metric), row.reasons
    numbers, fits = blocks.quantise(row.values, step)
    if not fits:
        told = reasons or ("",) * len(row.values)
        largest = blocks.LARGEST * step
        reasons = tuple(
            reason or ("" if abs(value) <= largest else "out of range") for reason, value in zip(told, row.values, strict=True)
        )
        reasons = reasons if any(reasons) else None
    return Record(round(time / TICK), row.entities, numbers, reasons)


def _keep(waiting: dict[str, list[Record]], rows: dict[str, list[Record]]) -> int:
    """Adds rows to those that wait; what is too much goes, the oldest first. Returns how many rows were dropped."""
    for metric, records in rows.items():
        waiting.setdefault(metric, []).extend(records)
    cells = sum(len(record.numbers) for records in waiting.values() for record in records)
    lost = 0
    while cells > _WAITING_CELLS:
        longest = max(waiting.values(), key=len)
        half = max(1, len(longest) // 2)
        cells -= sum(len(record.numbers) for record in longest[:half])
        lost += half
        del longest[:half]
    return lost


class _Writer:
    """Everything that touches the file. `take` comes from the caller's thread, `work` from the one that writes."""

    def __init__(self, directory: Path, limits: Limits, now: float) -> None:
        self._limits = limits
        self._given: dict[str, list[Record]] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Record]] = {}
        self._lost = 0
        self._damaged = 0
        self._size = 0
        self.keeper = Keeper(directory / FILE, SCHEMA, now, self._opened)

    def _opened(self, connection: sqlite3.Connection) -> None:
        self._file = File(connection)
        self._size = self._file.used_bytes()

    def take(self, rows: dict[str, list[Record]]) -> None:
        with self._lock:
            self._lost += _keep(self._given, rows)

    def work(self, now: float) -> None:
        """Writes what waits, makes blocks, removes what is old. Never raises."""
        with self._lock:
            rows, self._given = self._given, {}
        self._lost += _keep(self._waiting, rows)
        directory = self.keeper.directory
        tight = database.free_bytes(directory) <= self._limits.reserve
        try:
            if self.keeper.run(lambda _: self._write(now, tight), now) and tight:
                self.keeper.say("full", f"less than {self._limits.reserve >> 20} MiB are free at {directory}", now)
        except Exception as error:  # a defect of ours: the rows that led to it must not lead to it again and again
            self._lost += sum(map(len, self._waiting.values()))
            self._waiting = {}
            self.keeper.say("failed", f"defect: {error!r}", now)

    def _write(self, now: float, tight: bool) -> None:
        if tight and self._file.used_bytes() > self._limits.least:
            self._file.make_room(_ROOM, _ROOM_BLOCKS)
        if self._waiting:
            self._file.write_parts(self._waiting)
            self._waiting = {}
        try:
            self._tidy(now, tight)
        except (TypeError, ValueError, OverflowError) as error:  # all that this works on comes from the file
            raise database.Damage(f"file has values of the wrong type: {error}") from error
        self._damaged += self._file.damaged
        self._file.damaged = 0
        self._size = self._file.used_bytes()

    def _tidy(self, now: float, tight: bool) -> None:
        made = self._file.seal(round(now / TICK))
        if made:
            self._file.expire(round((now - self._limits.days * 86400) / TICK), _EXPIRED_PER_BLOCK * made)
            while self._file.used_bytes() > self._limits.size and self._file.shrink(_SHRUNK):
                pass
            if not tight:
                self._file.vacuum()
            self._file.forget_pages()

    def health(self, waiting: int, left_out: int) -> HistoryHealth:
        with self._lock:
            waiting += sum(map(len, self._given.values()))
        waiting += sum(len(records) for records in list(self._waiting.values()))
        state, reason = self.keeper.how()
        since, aside = self.keeper.since, self.keeper.aside
        return HistoryHealth(state, reason, since, waiting, self._lost, self._damaged, left_out, self._size, aside)
