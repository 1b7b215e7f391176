"""What goes into a bundle: the files of a directory, or the virtual files of the live host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.collect.bundle import Caps, Piece
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source.tree import Listing, SourceFile, walk


def of_directory(root: Path, caps: Caps, notes: list[SourceReport], own: Path | None = None) -> Iterator[Piece]:
    """Every regular file below `root` in sorted order, but for `own`: the bundle that is being written. What cannot be read
    is added to `notes`."""
    mine = own and (os.path.realpath(own.parent), own.name)
    for entry in walk([root]):
        if isinstance(entry, SourceReport):
            notes.append(entry)
            continue
        if isinstance(entry, Listing):
            yield Piece(entry.path, entry.data, len(entry.data))
            continue
        if mine and os.path.basename(entry.place) == mine[1] and os.path.realpath(os.path.dirname(entry.place)) == mine[0]:
            continue
        try:
            yield _piece(entry, caps)
        except OSError as error:
            notes.append(SourceReport(entry.path, "unknown", "failed", (error.strerror or str(error)).lower()))


def _piece(file: SourceFile, caps: Caps) -> Piece:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(file.place, flags), "rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        if size <= caps.file_bytes:
            return Piece(file.path, handle.read(caps.file_bytes), size)
        head = handle.read(caps.file_bytes // 2)
        handle.seek(-(caps.file_bytes // 2), os.SEEK_END)
        return Piece(file.path, head, size, handle.read(caps.file_bytes // 2))
