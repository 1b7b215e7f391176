"""Where the bytes of one text come from: a file with holes, memory, a decompressor, a transcoder. Read once, in order."""

from __future__ import annotations

import codecs
import contextlib
import functools
import os
import queue
import threading
import time
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol, cast

MIB = 1024 * 1024
PACKED = 128 * 1024
HOLE = 64 * 1024
"""Holes of at least this size are skipped."""


class StreamError(Exception):
    """The rest of a stream cannot be read; the text says why, for people."""


class ByteStream(Protocol):
    """`read` gives at most `size` bytes and b"" at the end. `place` is the offset of the next byte in the text; it jumps
    over holes. Raises StreamError or OSError."""

    @property
    def place(self) -> int: ...

    def read(self, size: int) -> bytes: ...


class Memory:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)
        self.place = 0

    def read(self, size: int) -> bytes:
        part = self._data[self.place : self.place + size]
        self.place += len(part)
        return part


class File:
    """The first `size` bytes of an open file (what is appended later is not read), without its holes."""

    def __init__(self, descriptor: int, size: int, sparse: bool, start: int = 0) -> None:
        self._descriptor = descriptor
        self.size = size
        self.sparse = sparse
        self.place = start

    def read(self, size: int) -> bytes:
        if self.sparse:
            self._skip_hole()
        data = os.pread(self._descriptor, min(size, self.size - self.place), self.place) if self.place < self.size else b""
        self.place += len(data)
        return data

    def readinto(self, view: memoryview) -> int:
        """Reads into `view`; the number of bytes, 0 at the end."""
        if self.sparse:
            self._skip_hole()
        room = min(len(view), self.size - self.place)
        if room <= 0:
            return 0
        if hasattr(os, "preadv"):
            count = os.preadv(self._descriptor, [view[:room]], self.place)
        else:  # older macOS
            data = os.pread(self._descriptor, room, self.place)
            count = len(data)
            view[:count] = data
        self.place += count
        return count

    def _skip_hole(self) -> None:
        if self.place >= self.size:
            return
        try:
            data = os.lseek(self._descriptor, self.place, os.SEEK_DATA)
        except OSError:  # nothing but a hole up to the end, or a file system that cannot tell
            try:
                data = self.size if os.lseek(self._descriptor, 0, os.SEEK_DATA) >= 0 else self.place
            except OSError as error:
                data = self.size if error.errno == 6 else self.place  # ENXIO: no data at all
        if data - self.place >= HOLE:
            self.place = min(data, self.size)


class _Decompressor(Protocol):
    """What bz2 and lzma offer, and zlib after a little help."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib (ISA-L where it is installed: four times as fast) with the interface of bz2 and lzma."""

    def __init__(self) -> None:
        self._state = _zlib().decompressobj(31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return bool(self._state.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._state.unused_data)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        made = bytes(self._state.decompress(self._state.unconsumed_tail + data, max_length))
        # A full output may leave more inside even when all input was taken.
        self.needs_input = not self._state.unconsumed_tail and len(made) < max_length
        return made


@functools.lru_cache(maxsize=1)  # a module that is not there is looked for in every directory each time
def _zlib() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


class Unpacked:
    """gzip, bzip2 or xz over another stream, several members in a row too. Gives what can be unpacked, then raises
    StreamError where the rest is broken or missing. Never makes more than is asked for."""

    def __init__(self, source: ByteStream, kind: str) -> None:
        self._source = source
        self._make = _MAKERS[kind]
        self._state: _Decompressor | None = None
        self._packed = b""
        self._at = 0
        self._feed = FIRST_FEED
        self.place = 0

    def read(self, size: int) -> bytes:
        while True:
            if self._state is None:
                if not self._start():
                    return b""
                assert self._state is not None
            part = b""
            if self._state.needs_input:
                if self._at >= len(self._packed) and not self._more():
                    raise StreamError("the compressed data ends early")
                # Little at first: what a member leaves is copied, and a file may be a million members of twenty bytes.
                part = self._packed[self._at : self._at + self._feed]
                self._at += len(part)
                self._feed = min(2 * self._feed, PACKED)
            try:
                made = self._state.decompress(part, size)
            except Exception as error:  # zlib.error, LZMAError, OSError, ... : each library has its own
                raise StreamError(f"broken compressed data: {error}") from error
            if self._state.eof:
                self._at -= len(self._state.unused_data)
                self._state = None
            if made:
                self.place += len(made)
                return made

    def _more(self) -> bool:
        """Takes more of the source behind what is left of the last part; False at its end."""
        part = self._source.read(PACKED)
        self._packed = self._packed[self._at :] + part
        self._at = 0
        return bool(part)

    def _start(self) -> bool:
        """Begins the next member; False at the end. Zeros and other padding behind the last member are ignored."""
        while len(self._packed) - self._at < LONGEST_MAGIC and self._more():
            pass
        if self.place and not self._packed.startswith(_MAGIC, self._at):
            return False
        if self._at >= len(self._packed):
            return False
        self._state = self._make()
        self._feed = FIRST_FEED
        return True


FIRST_FEED = 1024
LONGEST_MAGIC = 6
_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")


def _bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(memlimit=256 * MIB)


# The libraries are imported when they are needed: most evidence is plain text, and the start is to be quick.
_MAKERS: dict[str, Callable[[], Any]] = {"gzip": _Gzip, "bzip2": _bzip2, "xz": _xz}


class Zstandard:
    """zstd over another stream."""

    def __init__(self, source: ByteStream) -> None:
        import zstandard

        readable = _Readable(source)
        self._reader = zstandard.ZstdDecompressor(max_window_size=128 * MIB).stream_reader(
            cast(IO[bytes], readable), read_size=PACKED, read_across_frames=True
        )
        self._readable = readable
        self.place = 0

    def read(self, size: int) -> bytes:
        try:
            made = self._reader.read(size)
        except Exception as error:
            raise StreamError(f"broken compressed data: {error}") from error
        self.place += len(made)
        if not made and self.place < self._readable.promised:
            raise StreamError("the compressed data ends early")
        return made


class _Readable:
    """A stream as zstandard wants its file; `promised` is the size that the first frame states (0: it does not), since
    the library does not tell an early end from a good one."""

    def __init__(self, source: ByteStream) -> None:
        self._source = source
        self._first = True
        self.promised = 0

    def read(self, size: int = -1) -> bytes:
        part = self._source.read(size if size > 0 else PACKED)
        if self._first:
            import zstandard

            self._first = False
            with contextlib.suppress(zstandard.ZstdError):
                known = zstandard.get_frame_parameters(part).content_size
                self.promised = known if known < 1 << 62 else 0
        return part


class Transcoded:
    """UTF-16 or UTF-32 text as UTF-8."""

    def __init__(self, source: ByteStream, encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""
        self._ended = False
        self.place = 0

    def read(self, size: int) -> bytes:
        while not self._ready and not self._ended:
            part = self._source.read(size)
            self._ended = not part
            self._ready = self._decoder.decode(part, self._ended).encode("utf-8", "replace")
        made, self._ready = self._ready[:size], self._ready[size:]
        self.place += len(made)
        return made


class Bounded:
    """Stops a stream that unpacks to too much: `allowed()` says how many bytes it may still give."""

    def __init__(self, source: ByteStream, budget: Budget) -> None:
        self._source = source
        self._budget = budget

    @property
    def place(self) -> int:
        return self._source.place

    def read(self, size: int) -> bytes:
        part = self._source.read(size)
        self._budget.spend(len(part))
        return part


class Ahead:
    """Reads another stream in a thread of its own, a few pieces ahead: the decompressor works while the text is searched
    (both let other threads run). To be closed when it is not read to its end."""

    PIECES = 4

    def __init__(self, source: ByteStream, size: int, first: int) -> None:
        """Reads `first` bytes, then `size` at a time: who asks for just these pieces gets them without a copy."""
        self.place = source.place
        self._source = source
        self._size = size
        self._first = first
        self._ready: queue.Queue[bytes | Exception] = queue.Queue(self.PIECES)
        self._rest = b""
        self._ended = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self, size: int) -> bytes:
        if not self._rest and not self._ended:
            piece = self._ready.get()
            if isinstance(piece, Exception):
                self._ended = True
                raise piece
            self._ended = not piece
            self._rest = piece
        part, self._rest = self._rest[:size], self._rest[size:]
        self.place += len(part)
        return part

    def close(self) -> None:
        self._closed.set()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._ready.get(timeout=0.05)

    def _run(self) -> None:
        size = self._first
        try:
            while not self._closed.is_set():
                parts: list[bytes] = []
                left, size = size, self._size
                while left and (part := self._source.read(left)):
                    parts.append(part)
                    left -= len(part)
                if parts:
                    self._ready.put(b"".join(parts))
                if left:
                    self._ready.put(b"")
                    return
        except Exception as error:  # for the reader, behind what was read before
            if parts:
                self._ready.put(b"".join(parts))
            self._ready.put(error)


class Budget:
    """What one archive may unpack to: `total` bytes, and at most `ratio` times its packed size above `free` bytes. What goes
    on for longer than `seconds` must not be packed more than BOMB times: logs rarely are, and gzip cannot do more than a
    thousand times, so that a bomb of it is only known by the time it takes."""

    def __init__(
        self, packed: int, total: int, ratio: int, free: int, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = min(total, max(free, packed * ratio))
        self._why = "is ever read of one file" if self._limit == total else f"{ratio:,} times its size"
        self._late = max(free, packed * BOMB)
        self._seconds, self._clock = seconds, clock
        self._end = clock() + seconds
        self._spent = 0

    def spend(self, count: int) -> None:
        self._spent += count
        if self._spent > self._limit:
            raise StreamError(f"stopped after {self._spent:,} bytes: it unpacks to more than {self._why}")
        if self._spent > self._late and self._clock() > self._end:
            raise StreamError(
                f"stopped after {self._spent:,} bytes: it unpacks to more than {BOMB} times its size and takes longer than "
                f"{self._seconds:.0f} s"
            )


BOMB = 200


class Again:
    """A stream with bytes that were already taken from it put back."""

    def __init__(self, head: bytes, source: ByteStream) -> None:
        self._head = head
        self._source = source

    @property
    def place(self) -> int:
        return self._source.place - len(self._head)

    def read(self, size: int) -> bytes:
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
            return part
        return self._source.read(size)


def take(source: ByteStream, size: int) -> bytes:
    """Up to `size` bytes, fewer only at the end (or where the rest cannot be read)."""
    parts: list[bytes] = []
    left = size
    try:
        while left:
            part = source.read(left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
    except (StreamError, OSError):
        if not parts:
            raise
    return b"".join(parts)
