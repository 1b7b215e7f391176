"""One small file that is always whole: a thread of its own writes the newest content, with an fsync, and keeps the one before.

A disk that is full, away or read-only is a state, not an end: `retry` tries again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path
from typing import NamedTuple

from neuronwatch.store.keeper import KeeperState, Worker

BEFORE = ".before"
LARGEST = 64 * 1024 * 1024


class Content(NamedTuple):
    path: Path
    data: bytes


class Snapshot:
    """The one writer of `path`. All calls come from one thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: KeeperState = "ok"
        self.reason = ""
        self._new: bytes | None = None
        self._changed = threading.Condition()
        self._worker = Worker(self._work, lambda: None, path.name)

    def read(self) -> list[Content]:
        """The newest content and the one before, as far as they are there. Raises OSError."""
        found = []
        for path in (self.path, self._before):
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                found.append(Content(path, file.read(LARGEST)))
        return found

    def put(self, data: bytes, wait: float = 0.0) -> None:
        """Has it written soon; waits at most `wait` seconds for that, and not at all for a disk that failed before."""
        with self._changed:
            self._new = data
            self._worker.call(0.0)
            if wait and self.state == "ok":
                self._changed.wait_for(lambda: self._new is None or self.state != "ok", wait)

    def retry(self) -> None:
        """Tries again what could not be written."""
        with self._changed:
            if self._new is not None:
                self._worker.call(0.0)

    def close(self, timeout: float = 5.0) -> bool:
        """Writes what waits. False: the disk did not take it in time."""
        self.retry()
        return self._worker.end(timeout) and self._new is None

    @property
    def _before(self) -> Path:
        return self.path.with_name(self.path.name + BEFORE)

    def _work(self, _now: float) -> None:
        with self._changed:
            data = self._new
        if data is None:
            return
        state: KeeperState = "ok"
        reason = ""
        try:
            self._write(data)
        except OSError as error:
            state = "full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "failed"
            reason = f"{self.path}: {(error.strerror or str(error)).lower()}"
        with self._changed:
            self.state, self.reason = state, reason
            if state == "ok" and self._new is data:
                self._new = None
            self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        new = self.path.with_name(f".{self.path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(new, flags, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            link = self.path.with_name(f".{self.path.name}{BEFORE}")
            with contextlib.suppress(OSError):  # the one before is worth less than the new one
                link.unlink(missing_ok=True)
                os.link(self.path, link, follow_symlinks=False)
                link.replace(self._before)
            new.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            raise
