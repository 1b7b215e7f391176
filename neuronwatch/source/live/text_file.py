"""One file that grows, behind a descriptor that is kept: what it gained, line by line, and whether it began anew.

The place is that of the first byte which was not delivered, so that nothing is kept in memory and a restart reads on from
the start of a line. A file that was truncated and written again is told by its size, by its first bytes, and by the last
bytes that were delivered.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from neuronwatch.model.digest import blake2b
from neuronwatch.source.live.positions import Position

HEAD = 256
"""Bytes at the start of a file that tell it from others."""
TELLING = 24
"""Two files with fewer equal bytes at their starts need not be copies."""
ANCHOR = 48
"""Bytes before the place that must still be there."""
FEW = 32 * 1024
"""Bytes that are asked for at first when the last read came to the end."""
LONGEST = 128 * 1024
"""A line that is longer is delivered in parts."""
PATIENCE = 1.0
"""Seconds for which a line waits for its end before it is delivered without."""
NOTHINGS = 256
"""Pieces that are nothing but zeros and are passed over at once."""
COUNTED = 64 * 1024 * 1024
"""To read from the middle of a file, lines before are counted up to this size."""


class Piece(NamedTuple):
    """`data` begins the file anew where `fresh`; its first line has the number `line` (0: unknown)."""

    data: bytes
    fresh: bool
    line: int


class TextFile:
    """`fresh`: nothing of it was delivered yet under its path. Raises OSError where reading does."""

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        self.descriptor = descriptor
        self.device, self.inode = status.st_dev, status.st_ino
        self.size = -1
        """When it was last read dry; -1: not yet."""
        self.offset = 0
        self.line = 1
        self.fresh = True
        self.changed_at = float("-inf")
        self._head = b""
        self._anchor = b""
        self._waits_since: float | None = None
        self._written = 0
        self._asked = status.st_mtime_ns
        self.began_anew = False
        """What was delivered is not there any more: it was truncated, perhaps written again."""
        self.dry = False
        """Whether the last read came to its end."""
        self.read_at_ns = time.time_ns()
        """When it was last read dry, or opened; while it is `unlooked`, since when anything may have been missed."""
        self.unlooked = True
        """Nothing was delivered of it since it began: when something is, it is looked whether something was missed before."""

    # -------------------------------------------------------------------------------------------- where reading begins

    def start_at_end(self, keep: int) -> None:
        """Leaves out what is there, but for about the last `keep` bytes, from the start of a line."""
        size = os.fstat(self.descriptor).st_size
        start = max(0, size - keep)
        if start:
            behind = os.pread(self.descriptor, min(size - start + 1, LONGEST + 1), start - 1)
            newline = behind.find(b"\n")
            start = start + newline if newline >= 0 else start if keep else size
        self.line = 1 + self._lines_before(start) if start <= COUNTED else 0
        self._go_to(start)

    def _lines_before(self, end: int) -> int:
        count = at = 0
        while at < end:
            data = os.pread(self.descriptor, min(1 << 20, end - at), at)
            if not data:
                break
            count += data.count(b"\n")
            at += len(data)
        return count

    def resume(self, position: Position) -> bool:
        """Goes to a remembered position; False where this is not that text any more."""
        if position.offset > os.fstat(self.descriptor).st_size or not self.is_of(position):
            return False
        self.line = position.line
        self._go_to(position.offset)
        return True

    def is_of(self, position: Position) -> bool:
        """Whether the file begins as the one at that position did."""
        head = os.pread(self.descriptor, min(position.head_size, HEAD), 0)
        return len(head) == position.head_size and digest(head) == position.head

    def _go_to(self, offset: int) -> None:
        self.unlooked = offset == 0
        self.offset = offset
        size = min(ANCHOR, offset)
        self._anchor = os.pread(self.descriptor, size, offset - size) if size else b""
        self._head = os.pread(self.descriptor, min(HEAD, offset), 0)

    def position(self) -> Position:
        return Position(self.device, self.inode, len(self._head), digest(self._head), self.offset, self.line)

    # --------------------------------------------------------------------------------------------------------- reading

    def read(self, limit: int, now: float) -> Piece | None:
        """What it gained, at most `limit` bytes (at least LONGEST); None: nothing now, or it `began_anew`."""
        if not self.has_its_head():
            self.began_anew = True
            return None
        for _ in range(NOTHINGS):
            back = len(self._anchor)
            wanted = back + (FEW if self.dry else max(limit, LONGEST))  # memory is taken for what is asked for
            data = os.pread(self.descriptor, wanted, self.offset - back)
            if not data.startswith(self._anchor):
                self.began_anew = True
                return None
            fresh = data[back:]
            self.dry, was_dry = len(data) < wanted, self.dry
            if was_dry and not self.dry:
                continue
            cut = fresh.rfind(b"\n") + 1
            if cut:
                self._waits_since = now if cut < len(fresh) else None
            elif fresh:
                cut = self._without_end(fresh, now)
            else:
                self._waits_since = None
            if not cut:
                self._is_dry(len(fresh))
                return None
            if self.dry:
                self._is_dry(len(fresh))
            piece = self._deliver(fresh[:cut], now)
            if piece is not None:
                return piece
        return None

    def _is_dry(self, behind: int) -> None:
        """There is nothing more than `behind` bytes behind the place."""
        self.size = self.offset + behind
        if not self.unlooked:
            self.read_at_ns = time.time_ns()

    def _without_end(self, fresh: bytes, now: float) -> int:
        """How much of a line that has no end yet is delivered."""
        if len(fresh) >= LONGEST:
            self._waits_since = None
            return len(fresh)
        if self._waits_since is None:
            self._waits_since = now
        elif now - self._waits_since >= PATIENCE:
            self._waits_since = now
            return len(fresh)
        return 0

    def _deliver(self, data: bytes, now: float) -> Piece | None:
        if len(self._head) < HEAD and self.offset <= HEAD:
            self._head = os.pread(self.descriptor, HEAD, 0)[: self.offset + len(data)]
        first, self.offset = self.line, self.offset + len(data)
        self._anchor = (self._anchor + data[-ANCHOR:])[-ANCHOR:]
        self.changed_at = now
        if self.line:
            self.line += data.count(b"\n")
        if self.fresh and not data.strip(b"\0"):  # a hole, where a writer went on after a truncation
            return None
        piece = Piece(data, self.fresh, first)
        self.fresh = False
        return piece

    @property
    def waits(self) -> bool:
        """Whether a line waits for its end."""
        return self._waits_since is not None

    def has_its_head(self) -> bool:
        """Whether it begins as it did: else it was truncated and written again."""
        return not self._anchor or os.pread(self.descriptor, len(self._head), 0) == self._head

    def restart(self) -> None:
        """From its start again, as a new text."""
        self.offset, self.line, self.fresh, self.size, self.unlooked = 0, 1, True, -1, True
        self.began_anew = False
        self._head = self._anchor = b""
        self._waits_since = None
        if hasattr(os, "SEEK_DATA"):
            try:
                self.offset = os.lseek(self.descriptor, 0, os.SEEK_DATA)
            except OSError:  # no data at all
                self.offset = 0

    def is_at(self, status: os.stat_result | None) -> bool:
        """Whether a path with this status leads to this file."""
        return status is not None and (status.st_dev, status.st_ino) == (self.device, self.inode)

    def at_end(self) -> Position:
        """The position behind all that it holds: another text with the same lines was read."""
        self._go_to(os.fstat(self.descriptor).st_size)
        return self.position()

    def is_copy_of(self, position: Position) -> bool:
        """Whether it has the lines that were read of another file; False also while it has too few to tell."""
        return position.head_size >= TELLING and self.is_of(position)

    def begins_as(self, other: TextFile) -> bool:
        """Whether all that another file holds, or its first HEAD bytes, is how this one begins."""
        head = os.pread(other.descriptor, HEAD, 0)
        return os.pread(self.descriptor, len(head), 0) == head

    def take_over(self, other: TextFile) -> bool:
        """Goes on where the reading of another file stopped, when this one holds the same text: it was written anew (an editor,
        a restored backup)."""
        place, anchor = other.position(), other.anchor
        if place.head_size < TELLING or other.fresh or not self.resume(place):
            return False
        if self.anchor != anchor:
            self.restart()
            return False
        self.fresh = False
        return True

    def holds_more_than(self, offset: int) -> bool:
        return os.fstat(self.descriptor).st_size > offset

    @property
    def anchor(self) -> bytes:
        """The last bytes before the place."""
        return self._anchor

    def grew(self) -> bool:
        """Whether its size is another one than when it was read dry, or it was written since this was asked last (a file may
        have been truncated and written again up to the same size)."""
        status = os.fstat(self.descriptor)
        before, self._written = self._written, status.st_mtime_ns
        return status.st_size != self.size or before != status.st_mtime_ns

    def was_written(self) -> bool:
        """Whether it was written, or truncated, since it was opened or this was asked last."""
        before, self._asked = self._asked, os.fstat(self.descriptor).st_mtime_ns
        return before != self._asked

    def links(self) -> int:
        return os.fstat(self.descriptor).st_nlink

    def close(self) -> None:
        os.close(self.descriptor)


def digest(head: bytes) -> str:
    return blake2b(head, digest_size=12).hexdigest()
