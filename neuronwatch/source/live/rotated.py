"""Rotated files of a log: which one is the text that was read before, and what of it is left to read, compressed ones too."""

from __future__ import annotations

import os
import re

from neuronwatch.source import archive
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.limits import DEFAULT
from neuronwatch.source.live.positions import Position
from neuronwatch.source.live.text_file import HEAD, Piece, TextFile, digest
from neuronwatch.source.streams import ByteStream, File, StreamError

LOOKED_AT = 24
"""The newest files that may be rotated ones of a log."""
SLICE = 64 * 1024
_ROTATED = re.compile(
    r"(.{1,1000}?)(?:[.-]\d{1,14}|[.-]\d{4}-\d\d-\d\d(?:[T_-]\d{2,8})?|\.old)(\.log)?(?:\.gz|\.zst|\.xz|\.bz2)?$", re.S
)
MOST_UNPACKED = 1 << 30
"""To look for a place in a compressed file, not more than this is unpacked."""


def candidates(root: HostRoot, name: str) -> list[str]:
    """The paths beside `name` that may be rotated files of it, newest first: `x.log.1`, `x.log-20260101.gz`, `x.1.log`."""
    directory, _, base = name.rpartition("/")
    stem, dot, suffix = base.rpartition(".")
    found = []
    for entry in root.names(directory or "/"):
        if entry == base:
            continue
        if entry.startswith((f"{base}.", f"{base}-", f"{base}_")) or (
            dot and stem and entry.startswith((f"{stem}.", f"{stem}-", f"{stem}_")) and f".{suffix}" in entry
        ):
            path = f"{directory}/{entry}"
            status = root.stat(path)
            if status is not None:
                found.append((status.st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)[:LOOKED_AT]]


def is_rotated(root: HostRoot, name: str) -> bool:
    """Whether a name is that of a rotated file of a log that is beside it."""
    found = _ROTATED.match(name)
    return found is not None and root.exists(found.group(1) + (found.group(2) or ""))


class Rest:
    """What is left of a rotated file behind a place. Never raises: what cannot be read is the end."""

    def __init__(self, path: str, descriptor: int, stream: ByteStream, place: int, line: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._stream = stream
        self._line = line
        self._fresh = True
        self._kept = b""
        self._skip = place
        self.ended = False

    def read(self) -> Piece | None:
        """The next lines; None at the end."""
        while not self.ended:
            try:
                part = self._stream.read(SLICE)
            except (StreamError, OSError):
                part = b""
            if self._skip:
                gone = min(self._skip, len(part))
                self._skip -= gone
                data = part[gone:]
            else:
                data = part
            data = self._kept + data
            cut = data.rfind(b"\n") + 1 if part and len(data) < 4 * SLICE else len(data)
            self._kept = data[cut:]
            if not part:
                self.close()
            if cut:
                piece = Piece(data[:cut], self._fresh, self._line)
                self._fresh = False
                if self._line:
                    self._line += data.count(b"\n", 0, cut)
                return piece
        return None

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            os.close(self._descriptor)


def rest_of(root: HostRoot, path: str, offset: int, line: int) -> Rest | None:
    """What is behind `offset` in the text of a file, None where it cannot be read."""
    descriptor = root.open(path)
    if descriptor is None:
        return None
    try:
        stream, packed = _stream(descriptor)
        if not packed and isinstance(stream, File):
            stream.place, offset = offset, 0
        return Rest(path, descriptor, stream, offset, line)
    except (OSError, StreamError):
        os.close(descriptor)
        return None


def _stream(descriptor: int) -> tuple[ByteStream, bool]:
    """The text of a file, and whether it is packed."""
    size = os.fstat(descriptor).st_size
    plain = File(descriptor, size, sparse=False)
    packer = archive.packer(os.pread(descriptor, 16, 0))
    return (archive.unpacked(plain, packer, size, DEFAULT), True) if packer else (plain, False)


def is_packed(descriptor: int) -> bool:
    return bool(archive.packer(os.pread(descriptor, 16, 0)))


def holds(root: HostRoot, path: str, position: Position, anchor: bytes = b"") -> bool:
    """Whether the text of the file `path` begins as the one at `position` did and goes on to its offset, with the bytes
    `anchor` before it."""
    if not position.head_size:
        return False
    descriptor = root.open(path)
    if descriptor is None:
        return False
    try:
        stream, packed = _stream(descriptor)
        if not packed:
            head = os.pread(descriptor, min(position.head_size, HEAD), 0)
            there = os.pread(descriptor, len(anchor), max(0, position.offset - len(anchor))) if anchor else b""
            return (
                len(head) == position.head_size and digest(head) == position.head
                and there == anchor and os.fstat(descriptor).st_size >= position.offset
            )  # fmt: skip
        return _holds_packed(stream, position, anchor)
    except (OSError, StreamError):
        return False
    finally:
        os.close(descriptor)


def _holds_packed(stream: ByteStream, position: Position, anchor: bytes) -> bool:
    at, head, last = 0, b"", b""
    while at < position.offset and at < MOST_UNPACKED:
        part = stream.read(min(SLICE, position.offset - at))
        if not part:
            return False
        at += len(part)
        if len(head) < position.head_size:
            head += part[: position.head_size - len(head)]
            if len(head) == position.head_size and digest(head) != position.head:
                return False
        last = (last + part)[-max(1, len(anchor)) :]
    return at == position.offset and digest(head) == position.head and (not anchor or last == anchor)


def same_file(root: HostRoot, path: str, position: Position) -> TextFile | None:
    """The file at `path`, at that position, where it is the very file."""
    status = root.stat(path)
    if status is None or (status.st_dev, status.st_ino) != (position.device, position.inode):
        return None
    descriptor = root.open(path)
    if descriptor is None:
        return None
    try:
        status = os.fstat(descriptor)
        file = TextFile(descriptor, status)
        if (status.st_dev, status.st_ino) == (position.device, position.inode) and file.resume(position):
            file.fresh = True
            return file
    except OSError:
        pass
    os.close(descriptor)
    return None
