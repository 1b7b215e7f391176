"""Many small files that are read again and again: descriptors stay open, and one sweep is a `pread` of each.

A driver that unloads answers ENODEV; a file that takes the place of another has another inode. Both are said as `Gone`, and
the caller walks the tree anew. Files are opened for reading only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress, count, repeat
from operator import ne

SIZE = 64
"""Bytes of a counter that are read."""
SPARE = 512
"""Descriptors that are left to everything else in the process."""
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_VANISHED = frozenset((errno.ENODEV, errno.ENXIO, errno.ENOENT, errno.ESTALE))


class Gone(Exception):
    """A file is no longer what was opened."""


class Kept:
    """`places`: real paths; at most `size` bytes of each are read. `values[i]`: the newest bytes of place i, None where it cannot
    be read (`errors[i]` says why)."""

    open_now = 0
    """Descriptors that all objects of this class keep."""

    def __init__(self, places: Sequence[str], size: int = SIZE) -> None:
        self.places = places
        self.size = size
        self.values: list[bytes | None] = [None] * len(places)
        self.errors: dict[int, str] = {}
        self._slots = array("I")
        self._descriptors = array("i")
        self._inodes = array("Q")
        self._known: list[bytes] = []
        self._others: list[int] = []
        """Slots without a kept descriptor: beyond the limit, they are opened each time."""
        self._next = 0
        room = room_for(len(places), Kept.open_now)
        for slot, place in enumerate(places):
            self._open(slot, place, room)

    def _open(self, slot: int, place: str, room: int) -> None:
        if len(self._descriptors) >= room:
            self._others.append(slot)
            return
        try:
            descriptor = os.open(place, _FLAGS)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._others.append(slot)
            else:
                self.errors[slot] = (error.strerror or str(error)).lower()
            return
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):  # a simulated file that hangs: a read of it waits, `pread` would not
            os.close(descriptor)
            self._others.append(slot)
            return
        self._slots.append(slot)
        self._descriptors.append(descriptor)
        self._inodes.append(state.st_ino)
        self._known.append(b"")
        Kept.open_now += 1

    def sweep(self, first: int = 0, last: int | None = None) -> list[int]:
        """Reads all, or the slots from `first` to before `last`, and returns the slots whose bytes changed. Raises Gone."""
        slots, known = self._slots, self._known
        last = len(self.values) if last is None else last
        low, high = bisect_left(slots, first), bisect_left(slots, last)
        descriptors, before = (
            (self._descriptors, known) if high - low == len(known) else (self._descriptors[low:high], known[low:high])
        )
        try:
            read = list(map(os.pread, descriptors, repeat(self.size), repeat(0)))
        except OSError:
            read = self._one_by_one(low, high)
        changed: list[int] = []
        if read != before:
            for index in compress(count(low), map(ne, read, before)):
                slot = slots[index]
                self.values[slot] = known[index] = read[index - low]
                changed.append(slot)
        for slot in self._others:
            if first <= slot < last:
                value = self._fresh(slot)
                if value != self.values[slot]:
                    self.values[slot] = value
                    changed.append(slot)
        return changed

    def _one_by_one(self, low: int, high: int) -> list[bytes]:
        """As the sweep, where some reads fail: those keep their bytes and have an error."""
        read = []
        for index in range(low, high):
            slot = self._slots[index]
            try:
                read.append(os.pread(self._descriptors[index], self.size, 0))
                self.errors.pop(slot, None)
            except OSError as error:
                if error.errno in _VANISHED:
                    raise Gone(self.places[slot]) from error
                self.errors[slot] = (error.strerror or str(error)).lower()
                read.append(self._known[index])
        return read

    def _fresh(self, slot: int) -> bytes | None:
        try:
            descriptor = os.open(self.places[slot], _FLAGS)
        except OSError as error:
            if error.errno in _VANISHED:
                raise Gone(self.places[slot]) from error
            self.errors[slot] = (error.strerror or str(error)).lower()
            return None
        try:
            value = os.read(descriptor, self.size)
            if not value and not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Gone(self.places[slot])
            self.errors.pop(slot, None)
            return value
        except OSError as error:
            self.errors[slot] = (error.strerror or str(error)).lower()
            return None
        finally:
            os.close(descriptor)

    def compare(self, most: int) -> None:
        """Whether so many of the paths, other ones each time, still lead to the files that are open. Raises Gone."""
        for _ in range(min(most, len(self._slots))):
            self._next = (self._next + 1) % len(self._slots)
            place = self.places[self._slots[self._next]]
            try:
                same = os.lstat(place).st_ino == self._inodes[self._next]
            except OSError:
                same = False
            if not same:
                raise Gone(place)

    def close(self) -> None:
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        Kept.open_now -= len(self._descriptors)
        self._descriptors, self._slots, self._inodes, self._known = array("i"), array("I"), array("Q"), []


def read_once(place: str, size: int) -> bytes | None:
    """The bytes of one file, None where it cannot be read."""
    try:
        descriptor = os.open(place, _FLAGS)
    except OSError:
        return None
    try:
        return os.read(descriptor, size)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def room_for(count: int, before: int = 0) -> int:
    """How many more files may be kept open, when `before` are; the soft limit of descriptors is raised for them as far as it
    goes."""
    try:
        import resource
    except ImportError:
        return max(0, 64 - before)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return count
    wanted = before + count + SPARE
    if soft < wanted:
        raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return max(0, min(count, soft - SPARE - before))
