"""Little memory for months: few arenas for the threads, no look of the garbage collector at what stays for good, and what
malloc holds in reserve given back. What a system does not offer is left out."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading

ARENA_MAX, ARENAS = -8, 1
"""mallopt(M_ARENA_MAX): a thread of a source reads a few files a second and needs no arena of its own."""
STACK = 512 * 1024


def begin() -> None:
    """Before the first thread."""
    with contextlib.suppress(ValueError, RuntimeError):
        threading.stack_size(STACK)
    libc = _libc()
    if libc is not None:
        libc.mallopt(ARENA_MAX, ARENAS)


def settle() -> None:
    """After the start: what was made so far stays for good."""
    gc.collect()
    gc.freeze()
    trim()


def trim() -> None:
    """Gives free pages back to the system: a burst of news needs them for a moment only."""
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)


def _libc() -> ctypes.CDLL | None:
    """The C library where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None)
        return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
    except OSError:
        return None
