"""The lines of all followed texts in one order: by time as far as it is known, else as they came.

A million lines must cost 20 MB at most, so no line is an object: lines lie in blocks of bytes, packed by zlib together with their
columns (time, level, rank, core, text's number, line number), all but the newest by bzip2, which takes a fifth less and longer. A
block knows which levels, texts, ranks and cores it has, so that a search passes over most blocks without unpacking them
(view/log_search.py). The oldest blocks are dropped, and counted.
"""

from __future__ import annotations

import bz2
import heapq
import zlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from neuronwatch.tui.view.log_lines import GAP, LEVELS, NOBODY, PLAIN, rank_of_path, said, stamp

BLOCK_LINES = 1024
BLOCK_BYTES = 128 * 1024
MOST_LINES = 1_000_000
MOST_PACKED = 16 * 1024 * 1024
"""Bytes of all packed blocks."""
MOST_TEXT = 12_000
"""Bytes of a line."""
UNPACKED = 6
"""Blocks that are kept unpacked: those around the screen."""
_KINDS = "IIHHHB"
"""Columns: time, line number, text, rank, core, level."""
RECORDS = ("neuron-monitor",)
"""Texts of records for programs, one of many kilobytes a second: the pages show what they say."""


class Line(NamedTuple):
    """`place`: its number among all lines ever held; `time`: seconds since the epoch, 0: not known; `number`: in its text, 0: not
    known; `level`: a place in LEVELS, or GAP: `text` says what is missing."""

    place: int
    time: int
    path: str
    number: int
    level: int
    rank: int
    core: int
    text: bytes

    @property
    def level_name(self) -> str:
        return "gap" if self.level == GAP else LEVELS[self.level]


class Lines(NamedTuple):
    """An unpacked block: texts and columns of the same length."""

    texts: list[bytes]
    times: array[int]
    numbers: array[int]
    paths: array[int]
    ranks: array[int]
    cores: array[int]
    levels: array[int]


class Block:
    """`start`: place of its first line. `levels`, `paths`, `ranks`, `cores`: a bit for each that occurs (of ranks and cores modulo
    64). `packed` is None while the block grows."""

    __slots__ = ("cores", "count", "levels", "packed", "paths", "ranks", "size", "start", "whole")

    def __init__(self, start: int) -> None:
        self.start = start
        self.count = 0
        self.size = 0
        self.levels = self.paths = self.ranks = self.cores = 0
        self.packed: bytes | None = None
        self.whole: Lines | None = Lines([], *(array(kind) for kind in _KINDS))


class Logs:
    def __init__(self, most_lines: int = MOST_LINES, most_packed: int = MOST_PACKED) -> None:
        self.blocks: deque[Block] = deque([Block(0)])
        self.paths: list[str] = []
        self.end = 0
        """Place behind the newest line."""
        self.dropped = 0
        """Lines that were held once; places below this are gone."""
        self.missing = 0
        """Lines of which the daemon told that they were left out."""
        self.ranked = False
        """Whether any line told a rank."""
        self.filled = False
        """Whether the daemon's tails have come."""
        self.packed = 0
        self._dense = 0
        """How many blocks, the oldest, are packed by bzip2."""
        self.counts = [0] * len(LEVELS)
        """Lines held of each level."""
        self._most_lines, self._most_packed = most_lines, most_packed
        self._ids: dict[str, int] = {}
        self._ranks: list[int] = []
        self._next: dict[str, int] = {}
        self._levels: dict[str, int] = {}
        self._opened: dict[int, Lines] = {}

    # What comes in

    def take(self, items: Sequence[dict[str, Any]], now: float, tails: bool = False) -> None:
        """What texts gained, as the daemon's topic `logs` tells it, or the `tails` of its method: `path`, `lines`, `line` (number
        of the first), `left_out`, `fresh`, `unfinished`. Lines that are known are passed over; of missing ones a gap is kept."""
        streams = [
            stream for item in items if not is_records(str(item["path"])) and (stream := list(self._stream(item, now, tails)))
        ]
        for _, when, path, number, level, text in (
            streams[0] if len(streams) == 1 else heapq.merge(*streams, key=lambda part: part[0])
        ):
            self._add(when, path, number, level, text)
        if tails:
            self.filled = True

    def _stream(self, item: dict[str, Any], now: float, tails: bool) -> Iterator[tuple[int, int, str, int, int | None, bytes]]:
        """New lines of one text, in its order, with the time by which they are merged: (order, time, path, number, level, text)."""
        path, first = str(item["path"]), int(item.get("line") or 0)
        texts = [line.encode("utf-8", "replace")[:MOST_TEXT] for line in item.get("lines") or ()]
        came = list(item.get("came") or ()) if tails else []
        came = [*came, *[None] * len(texts)][: len(texts)]
        known, left_out = self._next.get(path, 0), int(item.get("left_out") or 0)
        if item.get("fresh"):
            known = 0
        elif tails and known and first and first + len(texts) < known:
            known = 0  # a new text under this path, or a new daemon
        if known and first:
            left_out = max(0, first - known)
            came = came[max(0, known - first) :]
            texts, first = texts[max(0, known - first) :], max(first, known)
        elif tails:
            left_out = 0  # what was before the beginning is not missed
        if first:
            self._next[path] = first + len(texts) - bool(item.get("unfinished") and texts)
        when = int(item.get("time") or now)
        stamps = _stamps(texts, now, came)
        shown = [(at or 0) if tails else when for at in stamps]
        order = [at if at is not None else when if not tails else 0 for at in stamps]
        if left_out:
            self.missing += left_out
            gap = f"{left_out:,} {'line' if left_out == 1 else 'lines'} left out here".encode()
            yield order[0] if order else when, shown[0] if shown else when, path, 0, GAP, gap
        highest = 0
        for place, text in enumerate(texts):
            highest = max(highest, order[place])  # a text is in its own order, whatever its stamps say
            yield highest, shown[place], path, first + place if first else 0, None, text

    def _add(self, when: int, path: str, number: int, level: int | None, text: bytes) -> None:
        """One line behind all others. `text` may have no line end within."""
        id = self._ids.get(path)
        if id is None:
            id = self._ids[path] = min(len(self.paths), NOBODY)
            if id < NOBODY:
                self.paths.append(path)
                self._ranks.append(rank_of_path(path))
        text = text.replace(b"\n", b" ") if b"\n" in text else text
        told = said(text, self._levels.get(path, PLAIN))
        rank = told.rank if told.rank != NOBODY or id >= len(self._ranks) else self._ranks[id]
        level = told.level if level is None else level
        self._levels[path] = level if level != GAP else PLAIN
        block = self.blocks[-1]
        if block.count >= BLOCK_LINES or block.size >= BLOCK_BYTES:
            self._seal(block)
            block = Block(self.end)
            self.blocks.append(block)
        assert block.whole is not None
        block.whole.texts.append(text)
        for column, value in zip(block.whole[1:], (when, min(number, 0xFFFFFFFF), id, rank, told.core, level), strict=True):
            column.append(value)
        block.count += 1
        block.size += len(text) + 1
        block.levels |= 1 << level
        block.paths |= 1 << id
        self.ranked = self.ranked or rank != NOBODY
        block.ranks |= 0 if rank == NOBODY else 1 << rank % 64
        block.cores |= 0 if told.core == NOBODY else 1 << (told.core >> 8) % 64
        if level != GAP:
            self.counts[level] += 1
        self.end += 1

    def _seal(self, block: Block) -> None:
        assert block.whole is not None
        columns = b"".join(_sliced(column) for column in block.whole[1:])
        block.packed = zlib.compress(columns + b"\n".join(block.whole.texts), 6)
        block.whole = None
        self.packed += len(block.packed)
        if self.packed > self._most_packed // 8 and self._dense < len(self.blocks):
            self._repack(self.blocks[self._dense])
            self._dense += 1
        while len(self.blocks) > 1 and (self.packed > self._most_packed or self.end - self.dropped > self._most_lines):
            self._drop()

    def _repack(self, block: Block) -> None:
        assert block.packed is not None
        before = len(block.packed)
        block.packed = bz2.compress(_content(block), 2)
        self.packed += len(block.packed) - before

    def _drop(self) -> None:
        oldest = self.blocks[0]
        for level, count in enumerate(self.counts):
            if oldest.levels >> level & 1:
                self.counts[level] = count - self.lines(oldest).levels.count(level)
        self.blocks.popleft()
        self._dense = max(0, self._dense - 1)
        self._opened.pop(oldest.start, None)
        self.packed -= len(oldest.packed or b"")
        self.dropped = oldest.start + oldest.count

    # What is read

    def __len__(self) -> int:
        return self.end - self.dropped

    def lines(self, block: Block) -> Lines:
        """The lines of a block, unpacked."""
        if block.whole is not None:
            return block.whole
        found = self._opened.pop(block.start, None)
        if found is None:
            found = unpacked(block)
        self._opened[block.start] = found
        if len(self._opened) > UNPACKED:
            del self._opened[next(iter(self._opened))]
        return found

    def block_at(self, place: int) -> int:
        """The number in `blocks` of the block that has a place, or of the nearest."""
        low, high = 0, len(self.blocks) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.blocks[middle].start <= place:
                low = middle
            else:
                high = middle - 1
        return low

    def line(self, place: int) -> Line | None:
        if not self.dropped <= place < self.end:
            return None
        block = self.blocks[self.block_at(place)]
        lines, at = self.lines(block), place - block.start
        id = lines.paths[at]
        path = self.paths[id] if id < len(self.paths) else "(too many texts)"
        return Line(
            place, lines.times[at], path, lines.numbers[at], lines.levels[at], lines.ranks[at], lines.cores[at], lines.texts[at]
        )

    def id_of(self, path: str) -> int | None:
        return self._ids.get(path)


def is_records(path: str) -> bool:
    return path.rpartition(":")[2].rpartition("/")[2] in RECORDS


def unpacked(block: Block) -> Lines:
    """The lines of a packed block, anew."""
    data = _content(block)
    columns: list[array[int]] = []
    at = 0
    for kind in _KINDS:
        size = block.count * array(kind).itemsize
        columns.append(_whole(kind, data[at : at + size], block.count))
        at += size
    return Lines(data[at:].split(b"\n"), *columns)


def raw(block: Block) -> bytes:
    """The texts of a packed block in one, each line behind the other."""
    return _content(block)[block.count * sum(array(kind).itemsize for kind in _KINDS) :]


def _content(block: Block) -> bytes:
    assert block.packed is not None
    return bz2.decompress(block.packed) if block.packed.startswith(b"BZh") else zlib.decompress(block.packed)


def _sliced(column: array[int]) -> bytes:
    """The first bytes of all numbers, then their second ones, ...: what differs little packs well so."""
    data, size = column.tobytes(), column.itemsize
    return b"".join(data[part::size] for part in range(size))


def _whole(kind: str, data: bytes, count: int) -> array[int]:
    column: array[int] = array(kind)
    size = column.itemsize
    mixed = bytearray(len(data))
    for part in range(size):
        mixed[part::size] = data[part * count : (part + 1) * count]
    column.frombytes(bytes(mixed))
    return column


def _stamps(texts: Iterable[bytes], now: float, came: Sequence[int | None]) -> list[int | None]:
    """The time of each line: its own, the one at which it `came`, that of the line before it, or, at the beginning, of the first
    that has one."""
    found: list[int | None] = []
    last: int | None = None
    for text, read in zip(texts, came, strict=True):
        own = stamp(text, now)
        own = read if own is None and read is not None else own
        if own is not None and last is None:
            found = [own] * len(found)
        last = own if own is not None else last
        found.append(last)
    return found
