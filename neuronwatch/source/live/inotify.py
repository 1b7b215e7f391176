"""inotify and timer descriptors of Linux, straight from libc: a library would run `ldconfig` at every start."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
OVERFLOW, IGNORED, ONLYDIR = 0x4000, 0x8000, 0x01000000
_HEAD = struct.Struct("iIII")
_NONBLOCK, _CLOEXEC = 0o4000, 0o2000000
_MONOTONIC = 1


class Event(NamedTuple):
    """What happened to the file or directory of a watch; `name` is that of an entry of a directory."""

    watch: int
    mask: int
    name: bytes


class Inotify:
    """One inotify descriptor. All calls raise OSError: it may be missing, or the user's share of watches used up."""

    def __init__(self) -> None:
        self._libc = _library()
        self.descriptor = _checked(self._libc.inotify_init1(_NONBLOCK | _CLOEXEC))

    def watch(self, path: str | bytes, mask: int) -> int:
        return _checked(self._libc.inotify_add_watch(self.descriptor, os.fsencode(path), mask))

    def forget(self, watch: int) -> None:
        """Ends a watch; one that ended by itself is no error."""
        self._libc.inotify_rm_watch(self.descriptor, watch)

    def read(self) -> list[Event]:
        """What happened since; never waits."""
        try:
            data = os.read(self.descriptor, 64 * 1024)
        except BlockingIOError:
            return []
        events, at = [], 0
        while at + _HEAD.size <= len(data):
            watch, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            events.append(Event(watch, mask, data[at : at + size].rstrip(b"\0")))
            at += size
        return events

    def close(self) -> None:
        os.close(self.descriptor)


class Timer:
    """A descriptor that is readable once after a while."""

    def __init__(self) -> None:
        self._libc = _library()
        self.descriptor = _checked(self._libc.timerfd_create(_MONOTONIC, _NONBLOCK | _CLOEXEC))

    def start(self, seconds: float) -> None:
        """From now on, instead of what was started before."""
        whole = int(seconds)
        spec = (ctypes.c_long * 4)(0, 0, whole, max(1, int((seconds - whole) * 1e9)))
        _checked(self._libc.timerfd_settime(self.descriptor, 0, spec, None))

    def stop(self) -> None:
        """Not readable any more."""
        _checked(self._libc.timerfd_settime(self.descriptor, 0, (ctypes.c_long * 4)(), None))

    def close(self) -> None:
        os.close(self.descriptor)


def _library() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init1") or not hasattr(libc, "timerfd_create"):
        raise OSError("this system has no inotify")
    return libc


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
