"""A stream of bytes cut into chunks of whole lines, each with the lines before it, in one buffer that is used again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.judge.match.types import OVERLAP
from neuronwatch.source.streams import ByteStream, File

CHUNK = 1024 * 1024
UNKNOWN = 1 << 62
CONTEXT = 64 * 1024
"""Lines before a chunk that stay in the buffer."""


class Chunk(NamedTuple):
    """`data[start:end]` are whole lines (or a window of a line longer than CHUNK), `data[:start]` whole lines before it;
    `data[0]` is at the offset `base` of the text, about `left` bytes are behind it (0: the last chunk; UNKNOWN: many). Valid
    until the next chunk is asked for."""

    data: bytearray
    base: int
    start: int
    end: int
    left: int


def chunks(stream: ByteStream, tail: int, known: int = 0, first: int = CHUNK) -> Iterator[Chunk]:
    """The first `known` bytes are whole lines that only serve as lines before the first chunk, which has `first` bytes.
    Raises what the stream raises, after the chunk with all that could be read before."""
    source: _Source = _FileSource(stream) if isinstance(stream, File) else _Delayed(stream, tail)
    size = getattr(stream, "size", None)
    full = CONTEXT + 2 * CHUNK + OVERLAP
    data = bytearray(full if size is None else min(full, size + 1))  # most files are small
    view = memoryview(data)
    base = stream.place  # offset of data[0]
    start = end = 0  # what is not scanned yet
    failure: Exception | None = None
    while True:
        keep = _context(data, start)
        if keep:
            view[: end - keep] = bytes(view[keep:end])
            base, start, end = base + keep, start - keep, end - keep
        place = source.place
        try:
            count = source.readinto(view[end : end + first])
        except Exception as error:  # given on below, after what is left in the buffer
            failure, count = error, 0
        if source.place - count != place or place != base + end:
            # The stream jumped over a hole: what is in the buffer ends here.
            if end > start:
                yield Chunk(data, base, start, end, source.left)
            moved = bytes(view[end : end + count])
            view[:count] = moved
            base, start, end = source.place - count, 0, 0
        end += count
        first = CHUNK
        if known:
            start, known = min(known, end), 0
        cut = _cut(data, start, end) if count else end
        if cut > start:
            yield Chunk(data, base, start, cut, source.left)
            start = cut
        elif end - start >= CHUNK:
            yield Chunk(data, base, start, end, source.left)
            start = end - OVERLAP
        if not count:
            if failure is not None:
                raise failure
            return


def _context(data: bytearray, start: int) -> int:
    """The start of the first whole line among the CONTEXT bytes before `start`."""
    low = max(0, start - CONTEXT)
    if low == 0:
        return 0
    newline = data.find(b"\n", low, start)
    return start if newline < 0 else newline + 1


def _cut(data: bytearray, start: int, end: int) -> int:
    """Behind the last line end, or `start` where there is none."""
    newline = data.rfind(b"\n", start, end)
    if newline >= 0:
        return newline + 1
    if end - start < CHUNK:
        return start
    # A progress bar of this size. A \r at the very end may be the first half of \r\n.
    return data.rfind(b"\r", start, end - 1) + 1 or start


class _Source:
    place: int
    left: int

    def readinto(self, view: memoryview) -> int:
        raise NotImplementedError


class _FileSource(_Source):
    """A file tells where it is, and its size is known."""

    def __init__(self, file: File) -> None:
        self._file = file

    @property
    def place(self) -> int:  # type: ignore[override]  # a property where the base has an attribute
        return self._file.place

    @property
    def left(self) -> int:  # type: ignore[override]  # a property where the base has an attribute
        return max(0, self._file.size - self._file.place)

    def readinto(self, view: memoryview) -> int:
        return self._file.readinto(view)


class _Delayed(_Source):
    """Of other streams the end is not known: reading runs ahead by the length of the tail. (Big ones only: the first
    chunks are given at once.)"""

    AT_ONCE = 16

    def __init__(self, stream: ByteStream, tail: int) -> None:
        self._stream = stream
        self._ahead: deque[bytes] = deque()
        self._wanted = max(1, tail // CHUNK)
        self._failure: Exception | None = None
        self._ended = False
        self._given = 0
        self.place = stream.place
        self.left = UNKNOWN

    def readinto(self, view: memoryview) -> int:
        wanted = self._wanted if self._given >= self.AT_ONCE else 1
        while not self._ended and len(self._ahead) < wanted:
            self._fetch(len(view))
        if not self._ahead:
            if self._failure is not None:
                raise self._failure
            return 0
        part = self._ahead.popleft()
        view[: len(part)] = part
        self.place += len(part)
        self._given += 1
        self.left = sum(map(len, self._ahead)) if self._ended else UNKNOWN
        return len(part)

    def _fetch(self, size: int) -> None:
        """One more chunk: as much as there is up to `size`."""
        parts: list[bytes] = []
        try:
            while size > 0:
                part = self._stream.read(size)
                if not part:
                    self._ended = True
                    break
                parts.append(part)
                size -= len(part)
        except Exception as error:
            self._failure, self._ended = error, True
        if parts:
            self._ahead.append(parts[0] if len(parts) == 1 else b"".join(parts))
