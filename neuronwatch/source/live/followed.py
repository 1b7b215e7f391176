"""The timing of a source that follows files, which reads at once what is quiet, and what is busy when its rest is over
(`rests.py`); and its positions, which outlive a restart."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended
from neuronwatch.source.live.api import Now
from neuronwatch.source.live.follow import SETTLES, Follower
from neuronwatch.source.live.inotify import Timer
from neuronwatch.source.live.positions import Positions

SOON = 0.001
"""Seconds to the next read while there is more than one gives,"""
FLOODED = 0.05
"""and while the end of a burst is waited for."""
INTERVAL, POLLING = 1.0, 0.1
"""Seconds between polls, with and without inotify."""


class Followed:
    """`make` is called at the first read, with the positions of the last run."""

    def __init__(self, make: Callable[[Positions], Follower], state: Path | None) -> None:
        self._make = make
        self._state = state
        self._follower: Follower | None = None
        self._timer: Timer | None = None
        self._positions: Positions | None = None
        self._timed = False
        self._descriptors: tuple[int, ...] = ()
        self._told: tuple[SourceReport, ...] = ()

    @property
    def interval(self) -> float:
        follower = self._follower
        return INTERVAL if follower is None or follower.descriptor is not None else POLLING

    @property
    def positions(self) -> Positions:
        if self._positions is None:
            self._positions = Positions(self._state)
        return self._positions

    @property
    def follower(self) -> Follower:
        if self._follower is None:
            self._follower = self._make(self.positions)
            if self._follower.descriptor is not None:
                with contextlib.suppress(OSError, AttributeError):
                    self._timer = Timer()
                timer = () if self._timer is None else (self._timer.descriptor,)
                self._descriptors = (self._follower.descriptor, *timer)
        return self._follower

    def read(self, now: Now) -> list[Appended]:
        follower = self.follower
        tick = time.monotonic()
        found = follower.read(now.mono, now.wall, tick)
        if self._timer is not None:
            again = SOON if follower.more else follower.rest_over() - tick
            if (look := follower.names_due() - now.mono) <= SETTLES:  # new names; everything else has time until the next poll
                again = min(again, look)
            if follower.flood.flooding:
                again = min(again, FLOODED)
            if again < INTERVAL:
                self._timer.start(max(SOON, again))
            elif self._timed:
                self._timer.stop()
            self._timed = again < INTERVAL
        self.positions.save(follower.positions, now.mono)
        return found

    def reports(self) -> tuple[SourceReport, ...] | None:
        """What is not followed and why, also what is wrong with our own memory of it; None: nothing else than last time."""
        found = self.follower.reports()
        if self.positions.note:
            found = (*found, SourceReport("(neuronwatch)", "positions", "partial", self.positions.note))
        if found == self._told:
            return None
        self._told = found
        return found

    def descriptors(self) -> Sequence[int]:
        return self._descriptors

    def close(self) -> None:
        follower, self._follower, self._descriptors = self._follower, None, ()
        if follower is not None:
            self.positions.save(follower.positions, 0.0, force=True)
            follower.close()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.close()
