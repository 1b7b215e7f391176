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

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
MAX_LATE = 20_000
"""Writes to a log that are kept while it is held."""


class Files:
    """The tree below the root. Paths are the host's own, absolute. What lies below a `held` path is not written: the tree goes
    on in memory, until `give` brings it back."""

    def __init__(self, root: Path | str, keep: int = MAX_OPEN) -> None:
        self.root = Path(root)
        self._base = str(self.root)
        self._mask = os.umask(0o022)
        os.umask(self._mask)
        self._content: dict[str, bytes] = {}
        self._modes: dict[str, int] = {}
        self._links: dict[str, str] = {}
        self._shapes: dict[str, tuple[int, float]] = {}
        self._directories: set[str] = set()
        """Directories that may be empty."""
        self._open: OrderedDict[str, int] = OrderedDict()
        self._keep = keep
        self._writes: dict[str, int] = {}
        self._held: tuple[str, ...] = ()
        self.settled = False
        """Whether somebody may be reading."""
        self._late: dict[str, list[str]] = {}
        """Lines for logs below a held path."""

    def where(self, path: str) -> str:
        return self._base + path

    def put(self, path: str, text: str | bytes, mode: int = 0o644, *, size: int = 0, time: float = 0.0) -> None:
        """The file holds `text`; nothing happens when it did already. `size`: it is that long, with a hole at its end; `time`:
        when it was changed, where that is not now."""
        data = text.encode() if isinstance(text, str) else text
        before = self._content.get(path)
        if before == data:
            return
        if size or time:
            self._shapes[path] = (size, time)
        if self._held and path.startswith(self._held):
            pass
        elif before is None:
            self._create(path, data, mode)
        else:
            self._rewrite(path, before, data)
        if before is None:
            self._modes[path] = mode
        self._content[path] = data

    # taking a part of the tree away

    def take(self, prefix: str) -> None:
        """Nothing below the path is written from now on."""
        self._held = (*self._held, prefix)

    def give(self, prefix: str) -> None:
        """What is below the path is written anew, under new inodes, as it would be by now; late lines of logs come with it."""
        self._held = tuple(item for item in self._held if item != prefix)
        if self.below(prefix):
            self.erase(prefix)
        self._write_anew(prefix)
        for path in [item for item in self._late if item == prefix or item.startswith(prefix + "/")]:
            self.append(path, "".join(self._late.pop(path)))

    def renew(self, prefix: str) -> None:
        """Every file below a held path is there under a new inode, as it is now."""
        self._write_anew(prefix)

    def _write_anew(self, prefix: str) -> None:
        below = prefix + "/"
        for path in self._directories:
            if path.startswith(below):
                os.makedirs(self.where(path), exist_ok=True)
        for path in self.below(prefix):
            self._forget(path)
            self._create(path, self._content[path], self._modes[path])
        for path, target in self._links.items():
            if path.startswith(below):
                self._link(path, target)

    def below(self, prefix: str) -> list[str]:
        """The files at or below a path, as the host knows them."""
        return [path for path in self._content if path == prefix or path.startswith(prefix + "/")]

    def erase(self, path: str) -> None:
        """Takes file or tree off the disk and nothing else: what the host knows of it stays."""
        where = self.where(path)
        for known in [item for item in self._open if item == path or item.startswith(path + "/")]:
            self._forget(known)
        try:
            state = os.lstat(where)
        except OSError:
            return
        if stat.S_ISDIR(state.st_mode):
            shutil.rmtree(where, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(where)

    def logs(self, tree: str) -> list[str]:
        """The files at or below a path that the host appends to. Links and pipes that others put there are none: who writes
        to them writes outside of the host, or waits for ever."""
        where = self.where(tree)
        found = [where]
        for directory, _, names in os.walk(where):
            found += [os.path.join(directory, name) for name in names if name.endswith(".log")]
        found = [item for item in found if _regular(item)]
        return [path for path in (item[len(self._base) :] for item in found) if path not in self._content]

    def content(self, path: str) -> bytes:
        """What the host would show there."""
        return self._content.get(path, b"")

    def _create(self, path: str, data: bytes, mode: int) -> None:
        """A new file. Once the host runs it comes whole, by rename: nobody sees it empty, and in the place of another its inode
        is another one too."""
        where = fresh = self.where(path)
        if self.settled:
            fresh = f"{self._base}/.drill/fresh"
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            os.makedirs(os.path.dirname(where), exist_ok=True)
        try:
            descriptor = os.open(fresh, _NEW, mode)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(where), exist_ok=True)
            descriptor = os.open(fresh, _NEW, mode)
        try:
            _all(descriptor, data)
            if mode & self._mask:
                os.fchmod(descriptor, mode)
            size, changed = self._shapes.get(path, (0, 0.0))
            if size:
                os.ftruncate(descriptor, size)
            if changed:
                os.utime(descriptor, (changed, changed))
        finally:
            os.close(descriptor)
        if fresh != where:
            os.rename(fresh, where)

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
        descriptor = self._writable(path)
        if writes < 3 or len(self._open) >= self._keep:
            return descriptor, False
        self._open[path] = descriptor
        return descriptor, True

    def _writable(self, path: str) -> int:
        """A descriptor for writing, of a file that its owner may not write too."""
        where, mode = self.where(path), self._modes.get(path, 0o644)
        if not mode & 0o200:
            os.chmod(where, mode | 0o200)
        try:
            return os.open(where, os.O_WRONLY | os.O_CLOEXEC)
        finally:
            if not mode & 0o200:
                os.chmod(where, mode)

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
        if self._held and path.startswith(self._held):
            late = self._late.setdefault(path, [])
            if len(late) < MAX_LATE:
                late.append(text)
            return
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
        if self._links.get(path) == target:
            return
        self._links[path] = target
        if not (self._held and path.startswith(self._held)):
            self._link(path, target)

    def _link(self, path: str, target: str) -> None:
        where = self.where(path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with contextlib.suppress(OSError):
            os.unlink(where)
        os.symlink(target, where)

    def directory(self, path: str) -> None:
        self._directories.add(path)
        if not (self._held and path.startswith(self._held)):
            os.makedirs(self.where(path), exist_ok=True)

    def remove(self, path: str) -> None:
        """The file or the tree is gone, and what we knew of it."""
        below = path.rstrip("/") + "/"
        for known in self.below(path):
            del self._content[known]
            self._modes.pop(known, None)
            self._shapes.pop(known, None)
            self._writes.pop(known, None)
        self._directories = {item for item in self._directories if item != path and not item.startswith(below)}
        for link in [item for item in self._links if item == path or item.startswith(below)]:
            del self._links[link]
        if not (self._held and path.startswith(self._held)):
            self.erase(path)

    def _forget(self, path: str) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def close(self) -> None:
        for path in list(self._open):
            self._forget(path)


def _regular(where: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(where).st_mode)
    except OSError:
        return False


def _all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
