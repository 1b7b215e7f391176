"""Lines around the triggers of one line format, put together over chunk borders."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from neuronwatch.judge.match.types import Buffer
from neuronwatch.parse.api import Line, LineFormat

ROOM = 4 * 1024 * 1024
"""A run of lines ends when it has so many bytes."""
MAX_BACK = 64 * 1024
"""Lines before a trigger are taken from at most this many bytes."""


class Chunk(Protocol):
    """The part of a source that is in memory: whole lines from `begin` to `end` (offsets in the source)."""

    data: Buffer
    base: int
    begin: int
    end: int

    def line(self, offset: int, end: int) -> Line: ...


class WindowBuilder:
    """Fed with the trigger lines of one format in rising order; finished runs of lines are in `done`."""

    def __init__(self, fmt: LineFormat, limit: int) -> None:
        self.format = fmt
        self.done: list[list[Line]] = []
        self.added = 0
        """Lines taken in so far."""
        self.charged = 0
        """As many of them somebody has accounted for."""
        self._limit = limit
        self._lines: list[Line] = []
        self._room = ROOM
        self._starts: list[int] = []
        self._next = 0
        self._owed = 0
        self._alone = fmt.series and not fmt.before and not fmt.after

    @property
    def owes(self) -> bool:
        return self._owed > 0

    def hit(self, chunk: Chunk, start: int, end: int) -> None:
        """A trigger in the line [start, end), where `\r` ends a line too."""
        if self._alone:
            if start >= self._next:
                self._lines.append(chunk.line(start, end))
                self._room -= end - start
                self.added += 1
                self._next = end + 1
                self._full()
            return
        whole = _line_start(chunk, start)
        self.extend(chunk, whole)
        if self._lines and self._next > start:
            behind = len(self._starts) - bisect_right(self._starts, start)
            self._owed = max(self._owed, self.format.after - behind)
            return
        first = _lines_back(chunk, whole, self.format.before, self._next if self._lines else chunk.begin)
        if self._lines and first > self._next and not self.format.series:
            self._take()
        while first < whole:
            first = self._add_line(chunk, first)
        self._add(chunk, start, end)
        self._next = end + (2 if chunk.data[end - chunk.base : end - chunk.base + 2] == b"\r\n" else 1)
        self._owed = self.format.after
        self._full()

    def extend(self, chunk: Chunk, until: int) -> None:
        """Takes the lines still owed to earlier triggers, up to the offset `until`."""
        until = min(until, chunk.end)
        while self._owed and self._next < until:
            self._next = self._add_line(chunk, max(self._next, chunk.begin))
            self._owed -= 1
            self._full()

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of the run that is not finished."""
        return self._lines

    @property
    def bytes(self) -> int:
        return ROOM - self._room

    def close(self, chunk: Chunk) -> None:
        """Ends the run when no line behind the chunk can join it."""
        if not self._lines or self._owed:
            return
        if not self._alone and chunk.end - self._next <= MAX_BACK:
            behind = chunk.data.count(b"\n", max(self._next, chunk.begin) - chunk.base, chunk.end - chunk.base)
            if behind <= self.format.before:
                return
        self._take()

    def copy(self) -> WindowBuilder:
        twin = copy.copy(self)
        twin.done, twin._lines, twin._starts = [], list(self._lines), list(self._starts)
        return twin

    def finish(self) -> None:
        self._owed = 0
        if self._lines:
            self._take()

    def _full(self) -> None:
        if len(self._lines) >= self._limit or self._room < 0:
            self._take()

    def _take(self) -> None:
        self.done.append(self._lines)
        self._lines, self._starts, self._room = [], [], ROOM

    def _add_line(self, chunk: Chunk, at: int) -> int:
        """Adds the line at `at` (of frames that `\\r` overwrote only the last); gives the start of the next."""
        data, base = chunk.data, chunk.base
        end = data.find(b"\n", at - base, chunk.end - base)
        end = chunk.end - base if end < 0 else end
        stop = end - 1 if end > at - base and data[end - 1] == 13 else end
        frame = data.rfind(b"\r", at - base, stop)
        self._add(chunk, base + frame + 1 if frame >= 0 else at, base + stop)
        return base + end + 1

    def _add(self, chunk: Chunk, start: int, end: int) -> None:
        self._lines.append(chunk.line(start, end))
        self._room -= end - start
        self._starts.append(start)
        self.added += 1


def _line_start(chunk: Chunk, at: int) -> int:
    """The start of the line that holds `at`, where only `\\n` ends a line."""
    newline = chunk.data.rfind(b"\n", chunk.begin - chunk.base, at - chunk.base)
    return chunk.begin if newline < 0 else chunk.base + newline + 1


def _lines_back(chunk: Chunk, start: int, count: int, low: int) -> int:
    """The start of the line `count` lines before the line at `start`, not before the line start `low`."""
    clip = max(low, chunk.begin, start - MAX_BACK) - chunk.base
    at = start - chunk.base
    for _ in range(count):
        if at <= clip:
            break
        newline = chunk.data.rfind(b"\n", clip, at - 1)
        if newline < 0:
            return max(low, chunk.begin) if clip + chunk.base != start - MAX_BACK else at + chunk.base
        at = newline + 1
    return at + chunk.base
