"""A tar archive as a stream of members. Nothing is written, no name is ever used as a path, sizes in headers are not trusted
with memory: tarfile reads a hostile header whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.source.streams import ByteStream, StreamError, take

BLOCK = 512
MAX_NAME = 1024 * 1024
"""A long name or extended header above this is skipped."""
_REGULAR = (b"0", b"\0", b"7")
_WORDS = {b"1": "a hard link", b"2": "a link", b"3": "a character device", b"4": "a block device", b"6": "a named pipe"}


class TarMember(NamedTuple):
    """`what` is "" for a regular file, else what it is (`stream` is then empty)."""

    name: str
    size: int
    mtime: float
    what: str
    stream: ByteStream


class _Part:
    """The bytes of one member."""

    def __init__(self, source: ByteStream, size: int) -> None:
        self._source = source
        self.left = size
        self.place = 0

    def read(self, size: int) -> bytes:
        if not self.left:
            return b""
        part = self._source.read(min(size, self.left))
        if not part:
            self.left = 0
            raise StreamError("the archive ends early")
        self.left -= len(part)
        self.place += len(part)
        return part


def is_tar(head: bytes) -> bool:
    """Whether the first block is a tar header, by its checksum (old archives have no magic)."""
    return len(head) >= BLOCK and head[0] != 0 and _checksum_holds(head[:BLOCK])


def members(source: ByteStream) -> Iterator[TarMember]:
    """The members in order; a member's stream is to be read before the next one is asked for. Raises StreamError where the
    archive is broken."""
    name = ""
    size: int | None = None
    while True:
        header = take(source, BLOCK)
        if len(header) < BLOCK:
            if header.strip(b"\0"):
                raise StreamError("the archive ends early")
            return
        if header == bytes(BLOCK):
            return
        if not _checksum_holds(header):
            raise StreamError("broken archive: a header has a wrong checksum")
        kind = header[156:157]
        length = _number(header[124:136])
        if kind in (b"L", b"K", b"x", b"g"):
            text = take(source, length) if length <= MAX_NAME else b""
            _skip(source, length - len(text) + -length % BLOCK)
            if kind == b"L":
                name = _text(text.rstrip(b"\0"))
            elif kind == b"x":
                name, size = _extended(text, name, size)
            continue
        length = size if size is not None else length
        part = _Part(source, length)
        regular = kind in _REGULAR and not (kind == b"\0" and header[:100].rstrip(b"\0").endswith(b"/"))
        what = "" if regular else "a directory" if kind in (b"5", b"\0") else _WORDS.get(kind, "a special file")
        yield TarMember(name or _plain_name(header), length if regular else 0, float(_number(header[136:148])), what, part)
        _skip(source, part.left + -length % BLOCK)
        name, size = "", None


def _checksum_holds(header: bytes) -> bool:
    total = sum(header[:148]) + 8 * 32 + sum(header[156:])
    return total == _number(header[148:156])


def _number(field: bytes) -> int:
    """Octal, or base 256 where the first bit is set; 0 for what is neither."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big") if field[0] != 0xFF else 0
    try:
        return int(field.strip(b"\0 ") or b"0", 8)
    except ValueError:
        return 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _plain_name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:262] == b"ustar" and header[263:265] == b"00" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _extended(text: bytes, name: str, size: int | None) -> tuple[str, int | None]:
    """Name and size from the records `LENGTH KEY=VALUE\\n` of an extended header."""
    at = 0
    while at < len(text):
        digits, _, _ = text[at : at + 20].partition(b" ")
        if not digits.isdigit() or int(digits) <= len(digits) + 1:
            break
        record = text[at + len(digits) + 1 : at + int(digits)].rstrip(b"\n")
        key, _, value = record.partition(b"=")
        if key == b"path":
            name = _text(value)
        elif key == b"size" and value.isdigit():
            size = int(value[:20])
        at += int(digits)
    return name, size


def _skip(source: ByteStream, count: int) -> None:
    while count > 0:
        part = source.read(min(count, 1 << 20))
        if not part:
            raise StreamError("the archive ends early")
        count -= len(part)
