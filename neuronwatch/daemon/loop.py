"""The loop: descriptors, timers and signals in one thread. No asyncio: it would cost the daemon 8 to 15 MB."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import os
import selectors
import signal
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType

from neuronwatch.daemon.clock import Clock

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
Callback = Callable[[], None]
Ready = Callable[[int], None]
"""Called with the READ and WRITE bits that are set."""
LONGEST = 3600.0


class Timer:
    """A callback at a time of the loop's clock (monotonic seconds), or up to `loose` seconds later, when the loop goes round
    anyway; with `interval` it comes again."""

    __slots__ = ("at", "call", "cancelled", "interval", "loose")

    def __init__(self, at: float, call: Callback, interval: float = 0.0, loose: float = 0.0) -> None:
        self.at = at
        self.call = call
        self.interval = interval
        self.loose = loose
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """`defect` is told about a callback that raised: that is a mistake of ours, and the others go on."""

    def __init__(self, clock: Clock, defect: Callable[[Exception], None]) -> None:
        self.clock = clock
        self.turns = 0
        """How often the loop went round: a watchdog is fed only while this grows."""
        self._defect = defect
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._running = False
        self._posted: deque[Callback] = deque()
        self._signals: dict[int, Callback] = {}
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        self._wake_read, self._wake_write = os.pipe()
        for descriptor in (self._wake_read, self._wake_write):
            os.set_blocking(descriptor, False)
        self._selector.register(self._wake_read, READ, self._woken)

    def watch(self, descriptor: int, events: int, ready: Ready) -> None:
        """Watches a descriptor, or changes what it is watched for."""
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, events, ready)
        else:
            self._selector.register(descriptor, events, ready)

    def forget(self, descriptor: int) -> None:
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def at(self, mono: float, call: Callback, loose: float = 0.0) -> Timer:
        """Calls once, at a monotonic time of the clock; infinite: never."""
        timer = Timer(mono, call, loose=loose)
        return self._add(timer) if mono < math.inf else timer

    def after(self, seconds: float, call: Callback) -> Timer:
        """Calls once, `seconds` of the clock from now."""
        return self._add(Timer(self.clock.now().mono + seconds, call))

    def every(self, seconds: float, call: Callback, loose: float = 0.0) -> Timer:
        """Calls each `seconds` of the clock, first after one such time. What was missed (the machine slept) is not made up."""
        return self._add(Timer(self.clock.now().mono + seconds, call, seconds, loose))

    def _add(self, timer: Timer) -> Timer:
        heapq.heappush(self._timers, (timer.at, next(self._numbers), timer))
        return timer

    def on_signal(self, numbers: Iterable[int], call: Callback) -> None:
        """Calls in the loop, not in the handler, after a signal of `numbers`. Main thread only."""
        for number in numbers:
            self._signals[number] = call
            self._before[number] = signal.signal(number, _nothing)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)

    def wake(self) -> None:
        """Makes the loop go round now. For any thread."""
        with contextlib.suppress(OSError):  # full: it is awake anyway; closed: nobody to wake
            os.write(self._wake_write, b"\0")

    def post(self, call: Callback) -> None:
        """Calls in the loop, soon. For any thread."""
        self._posted.append(call)
        self.wake()

    def stop(self) -> None:
        self._running = False
        self.wake()

    def run(self) -> None:
        """Goes round until `stop`."""
        self._running = True
        while self._running:
            self.turn()

    def turn(self, longest: float = LONGEST) -> None:
        """Waits for the next descriptor, timer or signal, at most `longest` real seconds, and does what is due."""
        self.turns += 1
        wait = longest
        last = min([at + timer.loose for at, _, timer in self._timers if not timer.cancelled], default=math.inf)
        if last < math.inf:
            wait = min(wait, max(0.0, self.clock.real(last - self.clock.now().mono)))
        for key, events in self._selector.select(wait):
            self._safely(lambda ready=key.data, events=events: ready(events))  # type: ignore[misc]
        self._timers_due()

    def _timers_due(self) -> None:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        now = self.clock.now().mono
        due: list[Timer] = []
        while self._timers and self._timers[0][0] <= now:
            due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            if timer.cancelled:
                continue
            self._safely(timer.call)
            if timer.interval and not timer.cancelled:
                late = now - timer.at
                timer.at += timer.interval * (1 + late // timer.interval)
                self._add(timer)

    def _safely(self, call: Callback) -> None:
        try:
            call()
        except Exception as error:
            self._defect(error)

    def _woken(self, _events: int) -> None:
        try:
            numbers = set(os.read(self._wake_read, 4096))
        except BlockingIOError:
            return
        while self._posted:
            self._safely(self._posted.popleft())
        for number in sorted(numbers):
            call = self._signals.get(number)
            if call is not None:
                call()

    def close(self) -> None:
        """Gives the signals back and closes what the loop opened itself."""
        if self._before:
            signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before.clear()
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The handler of signals that the loop takes from its pipe."""
