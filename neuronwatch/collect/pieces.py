"""What goes into a bundle: the files of a directory, those inside of its archives and compressed logs too."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.collect.bundle import MIB, Caps, Piece, is_text
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.parse.api import Document
from neuronwatch.source import archive, formats, recognise, zip
from neuronwatch.source.contents import BINARY_DOCUMENT
from neuronwatch.source.limits import Limits
from neuronwatch.source.streams import Again, ByteStream, File, StreamError, take
from neuronwatch.source.tree import Listing, SourceFile, shown, walk

UNPACKED = 8
"""One archive may unpack to so many times the limit of the whole bundle: of a long log the end is wanted as well."""
SUFFIXES = (".gz", ".zst", ".zstd", ".bz2", ".xz")


def of_directory(root: Path, caps: Caps, facts: list[Fact], notes: list[SourceReport], own: Path | None = None) -> Iterator[Piece]:
    """Every regular file below `root` in sorted order, but for `own`: the bundle that is being written. What binary
    documents say of themselves is added to `facts`, what cannot be read to `notes`."""
    mine = own and (os.path.realpath(own.parent), own.name)
    reader, begun = _Reader(caps, facts, notes), time.monotonic()
    for entry in walk([root]):
        if isinstance(entry, SourceReport):
            notes.append(entry)
            continue
        if isinstance(entry, Listing):
            yield Piece(entry.path, entry.data, len(entry.data))
            continue
        if mine and os.path.basename(entry.place) == mine[1] and os.path.realpath(os.path.dirname(entry.place)) == mine[0]:
            continue
        if time.monotonic() - begun > caps.seconds:  # it is only named any more
            yield Piece(entry.path, b"", entry.size)
            continue
        try:
            yield from reader.of_file(entry)
        except (OSError, StreamError) as error:
            notes.append(SourceReport(entry.path, "unknown", "failed", _reason(error)))


class _Reader:
    """Goes into files as `source.contents` does, so that a bundle holds what diagnose would have read."""

    def __init__(self, caps: Caps, facts: list[Fact], notes: list[SourceReport]) -> None:
        self._caps = caps
        self._facts = facts
        self._notes = notes
        self._limits = Limits(archive_total=UNPACKED * caps.total_bytes)

    def of_file(self, file: SourceFile) -> Iterator[Piece]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(file.place, flags)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                self._notes.append(SourceReport(file.path, "unknown", "skipped", "not a regular file"))
                return
            size = status.st_size
            stream = File(descriptor, size, False)
            head = take(stream, recognise.SNIFFED)
            if archive.container(head) or archive.packer(head):
                yield from self._inside(file.path, Again(head, stream), head, size, 0, descriptor)
            elif _is_binary(head):
                yield self._binary(file.path, head, stream, size)
            else:
                yield self._ends(file.path, descriptor, size)
        finally:
            os.close(descriptor)

    def _ends(self, path: str, descriptor: int, size: int) -> Piece:
        most = self._caps.file_bytes
        if size <= most:
            return Piece(path, take(File(descriptor, size, False), most), size)
        head = take(File(descriptor, most // 2, False), most // 2)
        return Piece(path, head, size, take(File(descriptor, size, False, size - most // 2), most // 2))

    def _inside(
        self, path: str, stream: ByteStream, head: bytes, size: int, depth: int, descriptor: int | None = None
    ) -> Iterator[Piece]:
        kind = archive.container(head)
        if kind and depth > 1:
            self._notes.append(SourceReport(path, kind, "skipped", "an archive inside an archive inside an archive is not read"))
        elif kind:
            yield from self._members(path, stream, kind, size, depth, descriptor)
        else:
            packer = archive.packer(head)
            inner = archive.unpacked(stream, packer, size or self._limits.archive_free, self._limits)
            yield from self._stream(_without_suffix(path), inner, 0, depth, packed=True)

    def _members(self, path: str, stream: ByteStream, kind: str, size: int, depth: int, descriptor: int | None) -> Iterator[Piece]:
        try:
            if kind == "tar":
                members = archive.tar_members(stream, self._limits)
            elif descriptor is not None:
                members = zip.members(os.fdopen(os.dup(descriptor), "rb"), size, self._limits)
            else:
                members = zip.members(*zip.spooled(b"", stream), self._limits)
            for member in members:
                name = f"{path}/{shown(member.name)}"
                if member.stream is None:
                    self._notes.append(SourceReport(name, "unknown", "skipped", member.why))
                else:
                    yield from self._stream(name, member.stream, member.size, depth + 1)
        except (StreamError, OSError) as error:
            self._notes.append(SourceReport(path, kind, "partial", _reason(error)))

    def _stream(self, path: str, stream: ByteStream, size: int, depth: int, packed: bool = False) -> Iterator[Piece]:
        try:
            head = take(stream, recognise.SNIFFED)
        except (StreamError, OSError) as error:
            self._notes.append(SourceReport(path, "unknown", "failed", _reason(error)))
            return
        again = Again(head, stream)
        if packed and archive.packer(head):
            self._notes.append(SourceReport(path, archive.packer(head), "skipped", "compressed twice"))
        elif archive.container(head) or archive.packer(head):
            yield from self._inside(path, again, head, size, depth)
        elif _is_binary(head):
            yield self._binary(path, head, stream, size or len(head))
        else:
            yield self._text(path, again)

    def _text(self, path: str, stream: ByteStream) -> Piece:
        """A text of unknown length: its beginning and its end stay in memory."""
        most = self._caps.file_bytes
        half, size, failure = most // 2, 0, ""
        data = bytearray()
        try:
            while part := stream.read(MIB):
                data += part
                size += len(part)
                if len(data) > most + 8 * MIB:
                    del data[half : len(data) - half]
        except (StreamError, OSError) as error:
            failure = _reason(error)
        if size <= most:
            return Piece(path, bytes(data), size, note=failure)
        return Piece(path, bytes(data[:half]), size, bytes(data[len(data) - half :]), failure)

    def _binary(self, path: str, head: bytes, stream: ByteStream, size: int) -> Piece:
        """The piece is left out of the bundle; what its format reads from its beginning becomes facts."""
        document = Document(path, head, max(size, len(head)))
        owner, _ = recognise.owner(document, formats.shipped()[1])
        if owner is None:
            return Piece(path, head, size, binary=True)
        data = head + take(stream, BINARY_DOCUMENT - len(head)) if len(head) == recognise.SNIFFED else head
        try:
            records = list(owner.parse(document._replace(data=data)))
        except Exception:  # a defect of one parser must not end the bundle
            return Piece(path, head, size, binary=True)
        self._facts.extend(record for record in records if isinstance(record, Fact))
        return Piece(path, head, size, note=f"what its header says is among the facts ({owner.name})", binary=True)


def _is_binary(head: bytes) -> bool:
    """Also a document with zeros at its very start: redaction takes them away, and then it says something else."""
    if not is_text(head):
        return True
    if b"\0" not in head[:8] or not head[:8].strip(b"\0") or recognise.encoding(head):
        return False
    return recognise.owner(Document("", head, len(head)), formats.shipped()[1])[0] is not None


def _without_suffix(path: str) -> str:
    for suffix in SUFFIXES:
        if path.lower().endswith(suffix) and os.path.basename(path[: -len(suffix)]):
            return path[: -len(suffix)]
    return path


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
