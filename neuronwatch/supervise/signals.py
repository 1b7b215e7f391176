"""Signals as something to wait for: each that comes is a byte in a pipe."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence


class Signals:
    """Use: `with signals.heard(): ...`, and `read` when `descriptor` is readable."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self.descriptor, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def read(self, take: Callable[[int], None]) -> None:
        with contextlib.suppress(BlockingIOError):
            for number in os.read(self.descriptor, 4096):
                if number in self._numbers:
                    take(number)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """They do nothing else meanwhile."""
        before = {number: signal.signal(number, lambda *_: None) for number in self._numbers}
        woken = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._wake)
