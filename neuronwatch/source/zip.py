"""Members of zip files as streams. Imported when one is met: the standard library's reader takes its time to load."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, BinaryIO

from neuronwatch.source.archive import Member
from neuronwatch.source.limits import Limits
from neuronwatch.source.streams import Again, Bounded, Budget, ByteStream, StreamError, take

MAX_DIRECTORY = 64 * 1024 * 1024
"""The table of contents of a zip file is held in memory; a bigger one is refused."""
SPOOLED = 64 * 1024 * 1024
"""A zip file inside an archive is held in memory up to this size."""

_BROKEN = (
    zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, struct.error, zlib.error, lzma.LZMAError, IndexError,
)  # fmt: skip
"""All that zipfile raises on broken files (NotImplementedError is a RuntimeError)."""


def members(handle: BinaryIO, size: int, limits: Limits) -> Iterator[Member]:
    """The members of a zip file that can be sought in. Raises StreamError where it is broken."""
    if _directory_size(handle, size) > MAX_DIRECTORY:
        raise StreamError("its table of contents is too big")
    budget = Budget(size, limits.archive_total, limits.archive_ratio, limits.archive_free)
    try:
        archive = zipfile.ZipFile(handle)
    except _BROKEN as error:
        raise StreamError(f"broken zip file: {error}") from error
    with archive:
        for info in archive.infolist():
            if info.filename.endswith("/"):  # not is_dir(), which fails on a member without a name
                continue
            mode = info.external_attr >> 16
            if info.flag_bits & 1:
                yield Member(info.filename, info.file_size, 0.0, None, "encrypted")
            elif mode & 0o170000 not in (0, 0o100000):
                yield Member(info.filename, info.file_size, 0.0, None, "a link or special file")
            else:
                try:
                    part = archive.open(info)
                except _BROKEN as error:
                    yield Member(info.filename, info.file_size, 0.0, None, f"cannot be unpacked: {error}")
                    continue
                with part:
                    yield Member(info.filename, info.file_size, 0.0, Bounded(_ZipPart(part), budget))


class _ZipPart:
    def __init__(self, part: IO[bytes]) -> None:
        self._part = part
        self.place = 0

    def read(self, size: int) -> bytes:
        try:
            data = self._part.read(size)
        except _BROKEN as error:
            raise StreamError(f"broken zip member: {error}") from error
        self.place += len(data)
        return data


def spooled(head: bytes, source: ByteStream) -> tuple[BinaryIO, int]:
    """A zip file inside an archive, in memory. Raises StreamError when it is too big."""
    data = take(Again(head, source), SPOOLED + 1)
    if len(data) > SPOOLED:
        raise StreamError(f"a zip file of more than {SPOOLED:,} bytes inside an archive is not read")
    return io.BytesIO(data), len(data)


def _directory_size(handle: BinaryIO, size: int) -> int:
    """The size of the table of contents as the end of the file states it."""
    handle.seek(max(0, size - 66_000))
    end = handle.read(66_000)
    at = end.rfind(b"PK\x05\x06")
    handle.seek(0)
    stated = int.from_bytes(end[at + 12 : at + 16], "little") if at >= 0 else 0
    return stated if stated != 0xFFFFFFFF else size
