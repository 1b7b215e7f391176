"""Copies what a run writes to its files to the standard output and error of `run`, in threads of their own: whoever reads us slowly
holds up nobody."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
from pathlib import Path

from neuronwatch.source.live import inotify

PART = 1024 * 1024
LOW = 5
BUSY, PAUSE = 64 * 1024, 0.02
"""After so many bytes at once there is a pause of so many seconds: a flood is copied in large pieces, not at each write."""


class Passthrough:
    """One file to one descriptor, once all of `after` was passed on. `finish` says that no more comes; `join` waits until all that
    is in the file was passed on (or nobody reads any more)."""

    def __init__(self, path: Path, target: int, start: int = 0, after: Passthrough | None = None) -> None:
        self._path, self._target, self._at, self._after = path, target, start, after
        self._ended, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._run, name=f"passthrough {target}", daemon=True)
        self._thread.start()

    @property
    def target(self) -> int:
        return self._target

    def finish(self) -> None:
        if self._wake >= 0:
            os.close(self._wake)
            self._wake = -1

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # on Linux a thread has a priority of its own: the job comes first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW)
        try:
            if self._after is not None:
                self._after.join()
                self._after = None
            self._follow()
        finally:
            os.close(self._ended)

    def _follow(self) -> None:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        made: inotify.Inotify | None = None
        with contextlib.suppress(OSError):
            made = inotify.Inotify()
        try:
            self._copy(descriptor, made)
        except OSError:
            pass  # nobody reads us any more; the file has it all
        finally:
            os.close(descriptor)
            if made is not None:
                made.close()

    def _copy(self, descriptor: int, watch: inotify.Inotify | None) -> None:
        """While much comes the file is looked at now and then: a watch would cost the job a part of each write."""
        last, watched = False, -1
        while True:
            begun = self._at
            while count := self._pass(descriptor):
                self._at += count
            if last:
                return
            if self._at - begun > BUSY:
                if watch is not None and watched >= 0:
                    watch.forget(watched)
                    watched = -1
                last = bool(select.select([self._ended], [], [], PAUSE)[0])
                continue
            if watch is not None and watched < 0:
                try:
                    watched = watch.watch(str(self._path), inotify.MODIFY)
                except OSError:  # the user's share of watches is used up: it is looked at now and then
                    watch = None
                continue  # what came before the watch
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
