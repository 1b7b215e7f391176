"""Runs sources for a loop: polls them when they are due or readable, keeps their health, hands on what they deliver.

The loop watches one descriptor (`fileno`), waits until `next_due`, and calls `turn`; deliveries come to its callback, in its
thread. A source that may block has a thread of its own. While a poll of it is under way there is no second one, and nobody
waits for it, not even at the end.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from neuronwatch.model.live import Delivery, Health
from neuronwatch.source.live.api import Clock, Now, Source
from neuronwatch.source.live.pulse import Pulse
from neuronwatch.source.live.worker import Outcome, Worker, attempt

CLOSING = 1.0
"""Seconds in which all threads that are free close their sources."""
NEVER = float("inf")

SLACK = 0.05
"""Seconds of the clock by which a poll may be early, when the loop goes round anyway: sources of one interval go together."""
PATIENT, BEAT = 0.5, 0.45
"""Parts of its interval, up to a second, for which a poll waits for the loop to go round anyway, and by which it is early where a
source that tells its readings by itself wakes the loop: all that is read each second is read when such a tool speaks. A wake costs
more than most reads. Together they are less than an interval: who speaks twice as often makes nobody be read more often."""
TOGETHER = 0.03
"""Seconds of the machine in which threads that were asked in one turn are expected back, to be taken in one turn."""

OVERSLEPT = 1.0
"""Seconds of the machine by which a turn may be late before that is more than a busy moment."""


class _Run:
    """One source, when it is polled next, and how it is."""

    __slots__ = ("asked", "busy", "due", "patience", "pulse", "source", "watched", "worker")

    def __init__(self, source: Source, pulse: Pulse, worker: Worker | None, due: float) -> None:
        self.source = source
        self.pulse = pulse
        self.worker = worker
        self.due = due
        self.patience = 0.0
        """Seconds for which it waits for the loop to go round anyway."""
        self.busy = False
        self.watched: list[int] = []
        self.asked: Sequence[int] = ()
        """What the source wanted to be watched when it was asked last."""

    @property
    def at_last(self) -> float:
        """When it is polled even if the loop would not go round."""
        return self.due + self.patience

    @property
    def pace(self) -> float:
        """Its interval, up to a second; 0 while it is down, and tried again at a pace of its own."""
        return self.patience / PATIENT

    def next(self, now: float, joined: bool, beats: bool = False) -> None:
        """A poll that was due begins. It comes again on the grid of its first one: what was missed is not made up. Where it
        `joined` others whom it had waited for, or who lead (`beats`), that is its grid from now on."""
        interval = self.source.interval
        if interval <= 0:
            self.due = NEVER
        elif now <= self.at_last and (beats or (joined and self.due < now)):
            self.due = now + interval
        else:
            self.due += interval * (1 + max(0.0, now - self.due) // interval)
        self.patience = PATIENT * min(interval, 1.0)


class Runner:
    """`deliver` is called for each delivery, only from within `turn`. A source is polled first in the first turn."""

    def __init__(self, sources: Iterable[Source], clock: Clock, deliver: Callable[[Delivery], None]) -> None:
        self._clock = clock
        self._deliver = deliver
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._results: deque[tuple[_Run, Outcome]] = deque()
        self._closed = False
        self._out = 0
        """How many of the threads that were asked in one turn are still expected back before anybody is woken."""
        self._collect_at = NEVER
        """When they are not waited for any longer."""
        self._beats = False
        """Whether a source told readings by itself in this turn."""
        self._planned = NEVER
        """When the next turn was due at the latest."""
        self._runs: list[_Run] = []
        now = clock.now()
        for source in sources:
            self.add(source, now)

    def add(self, source: Source, now: Now | None = None) -> None:
        """Takes one source more, on a grid that begins now. Raises ValueError when one of its name is there."""
        if any(run.source.name == source.name for run in self._runs):
            raise ValueError(f"two sources are called {source.name}")
        now = now or self._clock.now()
        run = _Run(source, Pulse(source, self._clock, now), None, now.mono)
        if source.blocking:
            run.worker = Worker(source, self._clock, lambda outcome: self._post(run, outcome))
        self._runs.append(run)

    def fileno(self) -> int:
        """Readable when a turn has something to do: an epoll (or kqueue) of all descriptors of the sources."""
        return self._selector.fileno()

    def next_due(self) -> float:
        """The monotonic time of the clock at which the next turn is due; infinite: not before `fileno` is readable."""
        due = min((min(NEVER if run.busy else run.at_last, run.pulse.late_at()) for run in self._runs), default=NEVER)
        return min(due, self._collect_at)

    def turn(self, now: Now) -> None:
        """Takes what threads have read, polls what is readable or due, and sees who is late. Never waits."""
        if now.mono >= self._collect_at:
            self._no_longer()
        late = now.mono - self._planned
        if self._clock.real(late) > OVERSLEPT:  # we were stopped, or got no processor: no source can be blamed for that time
            for run in self._runs:
                run.pulse.overslept(late)
        readable: list[_Run] = []
        for key, _ in self._selector.select(0):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
            elif key.data not in readable:
                readable.append(key.data)
        while self._results:
            run, outcome = self._results.popleft()
            self._take(run, outcome, now)
        if self._out <= 0:  # all are back
            self._collect_at = NEVER
        joined = now.mono < self._planned
        self._beats = False
        for run in readable:
            if not run.busy:
                if run.due <= now.mono + SLACK:
                    run.next(now.mono, joined)
                self._poll(run, now)
        beats = self._beats
        asked = [run for run in self._runs if not run.busy and run.due <= now.mono + max(SLACK, BEAT * run.pace * beats)]
        self._expect(sum(run.worker is not None for run in asked), now)
        asked.sort(key=lambda run: run.worker is not None)  # threads last: they would want the interpreter while we read
        for run in asked:
            run.next(now.mono, joined, beats)
            self._poll(run, now)
        for run in self._runs:
            run.pulse.watch(now)
        self._planned = self.next_due()

    def _expect(self, threads: int, now: Now) -> None:
        """So many threads are asked now: the last one that comes back wakes the loop, and at the latest a timer does."""
        if threads:
            with self._lock:
                self._out = max(0, self._out) + threads
            self._collect_at = min(self._collect_at, now.mono + TOGETHER / max(self._clock.real(1.0), 1e-9))

    def _no_longer(self) -> None:
        """Who comes back from now on wakes the loop by itself."""
        self._collect_at = NEVER
        with self._lock:
            self._out = 0

    def states(self) -> list[str]:
        """The states of all sources, in their order: `health` is dearer."""
        return [run.pulse.state for run in self._runs]

    def health(self) -> list[Health]:
        now = self._clock.now()
        return [run.pulse.health(now) for run in self._runs]

    def _poll(self, run: _Run, now: Now) -> None:
        run.pulse.asked(now)
        if run.worker is None:
            self._take(run, attempt(run.source, now), now)
            return
        run.busy = True
        self._watch(run, ())  # its thread reads them now; the loop would only spin
        run.worker.ask()

    def _take(self, run: _Run, outcome: Outcome, now: Now) -> None:
        run.busy = False
        run.pulse.came_back()
        if outcome.failure is not None:
            run.due, run.patience = now.mono + run.pulse.raised(outcome.failure, outcome.reason, now), 0.0
            self._watch(run, ())  # not before the next attempt: an end of file stays readable
            if outcome.delivery is not None:
                self._deliver(outcome.delivery)
            return
        if run.due <= now.mono:  # it took longer than its interval
            run.next(now.mono, False)
        self._watch(run, outcome.descriptors)
        if outcome.delivery is not None:
            run.pulse.delivered(now)
            self._beats = self._beats or bool(outcome.delivery.readings and run.worker is None)
            self._deliver(outcome.delivery)

    def _watch(self, run: _Run, descriptors: Sequence[int]) -> None:
        """Watches these descriptors for a source, and no others. A number may stand for another file than a poll ago, so all
        are registered anew, unless the source gives the very same object."""
        if descriptors is run.asked and isinstance(descriptors, tuple):
            return
        run.asked = descriptors
        for descriptor in run.watched:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(descriptor)
        run.watched = []
        for descriptor in descriptors:
            with contextlib.suppress(OSError, KeyError, ValueError):
                self._selector.register(descriptor, selectors.EVENT_READ, run)
                run.watched.append(descriptor)

    def _post(self, run: _Run, outcome: Outcome) -> None:
        """In the source's thread. After `close` the descriptor is somebody else's."""
        with self._lock:
            if self._closed:
                return
            self._results.append((run, outcome))
            self._out -= 1
            if self._out <= 0:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_write, b"\0")

    def close(self) -> None:
        """Closes all sources: those in a thread within CLOSING seconds together; one that hangs in a read is left to itself."""
        with self._lock:
            self._closed = True
        for run in self._runs:
            self._watch(run, ())
            if run.worker is not None:
                run.worker.stop()
        for run in self._runs:
            if run.worker is None:
                with contextlib.suppress(OSError):
                    run.source.close()
        until = time.monotonic() + CLOSING
        for run in self._runs:
            if run.worker is not None and not run.busy:
                run.worker.ended.wait(max(0.0, until - time.monotonic()))
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
