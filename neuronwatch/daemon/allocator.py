"""The C allocator told to keep little: a thread per blocking source would else have an arena of its own for ever."""

from __future__ import annotations

import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt."""


def thrifty() -> None:
    """Before the first thread. Does nothing where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, 128 * 1024), (_TRIM_THRESHOLD, 256 * 1024)):
        mallopt(parameter, value)


def trim() -> None:
    """Gives free memory back to the system: after the start, and after a reload."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return
