"""Archives and compressed logs, recognised by their first bytes, read as streams; nothing is ever written to disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.source import tar
from neuronwatch.source.limits import Limits
from neuronwatch.source.streams import Bounded, Budget, ByteStream, StreamError, Unpacked, Zstandard

_PACKERS = (
    (b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"),
)  # fmt: skip
_REFUSED = ((b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "rar"), (b"\x04\x22\x4d\x18", "lz4"))


class Member(NamedTuple):
    """A file in an archive: `name` as the archive states it, `stream` None where `why` says what keeps it from being read."""

    name: str
    size: int
    mtime: float
    stream: ByteStream | None
    why: str = ""


def packer(head: bytes) -> str:
    """gzip, zstd, bzip2, xz, or "" by the first bytes."""
    return next((name for magic, name in _PACKERS if head.startswith(magic)), "")


def container(head: bytes) -> str:
    """tar, zip, or "" by the first 512 bytes."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "tar" if tar.is_tar(head) else ""


def refused(head: bytes) -> str:
    """The name of an archive format that is not read, or ""."""
    return next((name for magic, name in _REFUSED if head.startswith(magic)), "")


def unpacked(source: ByteStream, kind: str, packed: int, limits: Limits) -> ByteStream:
    """The text of a compressed stream of `packed` bytes, bounded."""
    inner: ByteStream = Zstandard(source) if kind == "zstd" else Unpacked(source, kind)
    return Bounded(inner, Budget(packed, limits.archive_total, limits.archive_ratio, limits.archive_free))


def tar_members(source: ByteStream, limits: Limits) -> Iterator[Member]:
    """Raises StreamError where the archive is broken."""
    for count, member in enumerate(tar.members(source)):
        if count >= limits.archive_members:
            raise StreamError(f"stopped after {count:,} members")
        if member.what == "a directory":
            continue
        yield Member(member.name, member.size, member.mtime, None if member.what else member.stream, member.what)
