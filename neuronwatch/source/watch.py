"""A watchdog over regular expressions: `re` has no time limit, but it lets signal handlers run and raise."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from neuronwatch.judge.match.confirm import Confirmer, PatternTooSlow

TICK = 0.5
"""Seconds of processor time: a question that lasts over two ticks is given up."""


@contextlib.contextmanager
def watching(confirm: Confirmer) -> Iterator[None]:
    """While this is active, a single search of `confirm` that takes more than TICK to 2 TICK seconds of processor time is
    interrupted and its pattern dropped. Works in the main thread only, elsewhere it does nothing."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getsignal(signal.SIGVTALRM) not in (signal.SIG_DFL, signal.SIG_IGN):
        yield
        return
    seen = -1

    def tick(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        if confirm.asking and confirm.asked == seen:
            raise PatternTooSlow
        seen = confirm.asked

    before = signal.signal(signal.SIGVTALRM, tick)
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
