"""How one source is: the states starting, fresh, stale, missing and failed, with their reasons and the pace of retries. Pure."""

from __future__ import annotations

import time
from collections import deque

from neuronwatch.model.live import Health, SourceState
from neuronwatch.source.live import advice
from neuronwatch.source.live.api import Clock, Now, Source

LONGEST_RETRY = 30.0
SHORTEST_REAL = 2.0
"""Seconds of the machine that a source always has before it is late: at accelerated time a budget is over within a blink."""
FLAPS = 3
FLAP_WINDOW = 300.0
"""So many outages within so many seconds are flapping."""


class Pulse:
    """The health of one source. Times are those of `clock`."""

    def __init__(self, source: Source, clock: Clock, now: Now) -> None:
        self._source = source
        self._clock = clock
        self._state: SourceState = "starting"
        self._reason = ""
        self._since = now.wall
        self._last: float | None = None
        self._heard = now.mono
        """When it delivered last, or began."""
        self._asked: Now | None = None
        """Since when a poll is under way."""
        self._failures = 0
        self._outages: deque[float] = deque(maxlen=FLAPS)

    @property
    def state(self) -> SourceState:
        return self._state

    def asked(self, now: Now) -> None:
        """A poll begins."""
        self._asked = now

    def came_back(self) -> None:
        """The poll ended, whatever it gave."""
        self._asked = None

    def delivered(self, now: Now) -> None:
        self._last = now.wall
        self._heard = now.mono
        self._failures = 0
        self._become("fresh", "", now)

    def raised(self, state: SourceState, reason: str, now: Now) -> float:
        """A poll gave Absent or Broken. Returns the seconds until the next attempt."""
        self._become(state, reason, now)
        self._failures += 1
        return self.retry()

    def retry(self) -> float:
        """Seconds from one failed attempt to the next: 1, 2, 4, ... 30."""
        return min(LONGEST_RETRY, 2.0 ** min(max(self._failures - 1, 0), 10))

    def late_at(self) -> float:
        """The monotonic time at which the source is late, when nothing comes before; infinite when it is late or down."""
        if self._state in ("starting", "fresh"):
            return self._heard + self._patience()
        if self._asked is not None and self._state in ("missing", "failed"):
            return self._asked.mono + self._patience()
        return float("inf")

    def overslept(self, seconds: float) -> None:
        """Nobody looked for so long: the source has that much more time."""
        self._heard += seconds
        if self._asked is not None:
            self._asked = self._asked._replace(mono=self._asked.mono + seconds)

    def watch(self, now: Now) -> None:
        """Makes a source stale that is late."""
        if now.mono <= self.late_at():
            return
        asked = self._asked
        if asked is not None and now.mono - asked.mono > self._patience() / 2:
            clock = time.strftime("%H:%M:%S", time.gmtime(asked.wall))
            self._become("stale", f"a read that began at {clock} UTC has not come back", now)
        elif self._state in ("starting", "fresh"):
            self._become("stale", f"nothing came within {self._source.budget:g} s", now)

    def _patience(self) -> float:
        rate = 1.0 / max(self._clock.real(1.0), 1e-9)
        return max(self._source.budget, SHORTEST_REAL * rate if rate > 1.0 else 0.0)

    def _become(self, state: SourceState, reason: str, now: Now) -> None:
        if state != self._state:
            if self._state == "fresh":
                self._outages.append(now.mono)
            self._since = now.wall
            self._state = state
        self._reason = reason

    def _flapping(self, now: float) -> bool:
        return len(self._outages) == FLAPS and now - self._outages[0] <= FLAP_WINDOW

    def health(self, now: Now) -> Health:
        """The reason says what is wrong, and what to do about it."""
        source = self._source
        flaps = f"flapping: {FLAPS} outages within {FLAP_WINDOW / 60:g} minutes" if self._flapping(now.mono) else ""
        parts = (flaps, self._reason, advice.of(source.name, self._state, self._reason))
        reason = "; ".join(part for part in parts if part)
        return Health(source.name, self._state, self._since, source.budget, self._last, reason, source.mandatory)
