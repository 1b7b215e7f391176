"""Writing the host's files: only what changed, into the same inode, and so that a reader never sees half a number.

A reader keeps its descriptor and reads while we write. So a value is never shortened or lengthened in one go: it grows by
blank lines first and shrinks by blank lines last, and a reader that strips its text sees the old or the new value.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections import OrderedDict
from pathlib import Path

MAX_OPEN = 6_000
"""Descriptors that are kept; the rest is opened for each write."""
MAX_LOG = 16 * 1024 * 1024
"""Bytes after which a log is rotated, one old file is kept."""


class Files:
    """The tree below the root. Paths are the host's own, absolute."""

    def __init__(self, root: Path | str, keep: int = MAX_OPEN) -> None:
        self.root = Path(root)
        self._base = str(self.root)
        self._content: dict[str, bytes] = {}
        self._open: OrderedDict[str, int] = OrderedDict()
        self._keep = keep
        self._writes: dict[str, int] = {}
        self.held: set[str] = set()
        """Paths that a fault has taken over: `put` leaves them alone."""

    def where(self, path: str) -> str:
        return self._base + path

    def put(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        """The file holds `text`; nothing happens when it did already."""
        data = text.encode() if isinstance(text, str) else text
        before = self._content.get(path)
        if before == data or path in self.held:
            return
        if before is None:
            self._create(path, data, mode)
        else:
            self._rewrite(path, before, data)
        self._content[path] = data

    def _create(self, path: str, data: bytes, mode: int) -> None:
        where = self.where(path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with contextlib.suppress(OSError):
            os.unlink(where)
        descriptor = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _all(descriptor, data)
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _rewrite(self, path: str, before: bytes, data: bytes) -> None:
        descriptor, kept = self._descriptor(path)
        try:
            longer = len(data) - len(before)
            if longer > 0:
                os.pwrite(descriptor, b"\n" * longer, len(before))
            os.pwrite(descriptor, data if longer >= 0 else data + b"\n" * -longer, 0)
            if longer < 0:
                os.ftruncate(descriptor, len(data))
        finally:
            if not kept:
                os.close(descriptor)

    def _descriptor(self, path: str) -> tuple[int, bool]:
        """A descriptor to write with, and whether it is a kept one. A file that is written for the third time is kept open."""
        found = self._open.get(path)
        if found is not None:
            return found, True
        writes = self._writes[path] = self._writes.get(path, 0) + 1
        descriptor = os.open(self.where(path), os.O_WRONLY | os.O_CLOEXEC)
        if writes < 3 or len(self._open) >= self._keep:
            return descriptor, False
        self._open[path] = descriptor
        return descriptor, True

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """The whole file at once under a new inode, for what is opened anew at each reading."""
        where = self.where(path)
        fresh = f"{where}.new"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        try:
            _all(descriptor, data)
        finally:
            os.close(descriptor)
        os.rename(fresh, where)

    def append(self, path: str, text: str) -> None:
        """Lines at the end of a log; it is rotated by rename when it is long."""
        where = self.where(path)
        data = text.encode("utf-8", "surrogateescape")
        descriptor = self._open.get(path)
        if descriptor is None:
            os.makedirs(os.path.dirname(where), exist_ok=True)
            descriptor = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            if len(self._open) < self._keep:
                self._open[path] = descriptor
        try:
            _all(descriptor, data)
            if os.fstat(descriptor).st_size > MAX_LOG:
                os.rename(where, where + ".1")
                self._forget(path)
        finally:
            if path not in self._open:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def link(self, path: str, target: str) -> None:
        where = self.where(path)
        with contextlib.suppress(OSError):
            if os.readlink(where) == target:
                return
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with contextlib.suppress(OSError):
            os.unlink(where)
        os.symlink(target, where)

    def directory(self, path: str) -> None:
        os.makedirs(self.where(path), exist_ok=True)

    def remove(self, path: str) -> None:
        """The file or the tree is gone, and what we knew of it."""
        where = self.where(path)
        below = path.rstrip("/") + "/"
        for known in [item for item in self._open if item == path or item.startswith(below)]:
            self._forget(known)
        for known in [item for item in self._content if item == path or item.startswith(below)]:
            del self._content[known]
        try:
            state = os.lstat(where)
        except OSError:
            return
        if stat.S_ISDIR(state.st_mode):
            shutil.rmtree(where, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(where)

    def _forget(self, path: str) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def close(self) -> None:
        for path in list(self._open):
            self._forget(path)


def _all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
