"""Copies what a run writes to its files to the standard output and error of `run`, in threads of their own: whoever reads us slowly
holds up nobody."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
import time
from pathlib import Path

from neuronwatch.source.live import inotify

PART = 1024 * 1024
BUSY, PAUSE = 64 * 1024, 0.02
"""After so many bytes at once there is a pause of so many seconds: a flood is copied in large pieces, not at each write."""


class Passthrough:
    """One file to one descriptor. `close` waits until all that is in the file was passed on (or nobody reads any more)."""

    def __init__(self, path: Path, target: int, start: int = 0) -> None:
        self._path, self._target, self._at = path, target, start
        self._ended, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._run, name=f"passthrough {target}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._wake)
        self._thread.join()
        os.close(self._ended)

    def _run(self) -> None:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        watch: inotify.Inotify | None = None
        with contextlib.suppress(OSError):
            watch = inotify.Inotify()
            watch.watch(str(self._path), inotify.MODIFY)
        try:
            self._copy(descriptor, watch)
        except OSError:
            pass  # nobody reads us any more; the file has it all
        finally:
            os.close(descriptor)
            if watch is not None:
                watch.close()

    def _copy(self, descriptor: int, watch: inotify.Inotify | None) -> None:
        last = False
        while True:
            begun = self._at
            while count := self._pass(descriptor):
                self._at += count
            if last:
                return
            if self._at - begun > BUSY:
                time.sleep(PAUSE)
            waited = [self._ended] if watch is None else [self._ended, watch.descriptor]
            ready, _, _ = select.select(waited, [], [], 0.05 if watch is None else None)
            if watch is not None:
                watch.read()
            last = self._ended in ready

    def _pass(self, descriptor: int) -> int:
        """Passes some on; the bytes. The kernel copies where it can."""
        try:
            return os.sendfile(self._target, descriptor, self._at, PART)
        except BlockingIOError:
            select.select([], [self._target], [])
            return self._pass(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS):
                raise
        part = os.pread(descriptor, PART, self._at)
        _write(self._target, part)
        return len(part)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
