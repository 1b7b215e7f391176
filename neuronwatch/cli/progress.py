"""A progress line on stderr for long scans: only on a terminal, only after a moment, gone at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

DELAY, INTERVAL = 1.0, 0.2
"""Seconds until the line appears, and between its changes."""


class ProgressLine:
    """`with ProgressLine() as show: show(path, done_bytes, total_bytes)`; `show` is None where nobody would see it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock() + DELAY
        self._drawn = False

    def __enter__(self) -> Callable[[str, int, int], None] | None:
        return self._show if sys.stderr.isatty() else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")

    def _show(self, path: str, done: int, total: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next, self._drawn = now + INTERVAL, True
        share = f"{100 * done // total} % of {total // 2**20} MiB  " if total > 0 else f"{done // 2**20} MiB  "
        name = "".join(char if char.isprintable() else "?" for char in path[-50:])
        sys.stderr.write(f"\r\x1b[K{share}{name}")
        sys.stderr.flush()
