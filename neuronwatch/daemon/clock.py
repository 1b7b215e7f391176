"""The one clock of the daemon. On a simulated host at accelerated time both its times run faster than the machine's."""

from __future__ import annotations

import json
import math
import time

from neuronwatch.source.host.root import DRILL_MARKER, HostRoot
from neuronwatch.source.live.api import Now

MAX_RATE = 10_000.0


class Clock:
    """Wall and monotonic time. `rate`: how much faster than the machine's it runs; `begin`: the wall time (seconds since the
    epoch) at which the two agree, None: now."""

    def __init__(self, rate: float = 1.0, begin: float | None = None) -> None:
        self.rate = rate
        self._begin = time.time() if begin is None else begin
        self._mono = time.monotonic()

    def now(self) -> Now:
        if self.rate == 1.0:
            return Now(time.time(), time.monotonic())
        mono = self._mono + (time.monotonic() - self._mono) * self.rate
        return Now(self._begin + (time.time() - self._begin) * self.rate, mono)

    def real(self, seconds: float) -> float:
        """How many of the machine's seconds `seconds` of this clock take."""
        return seconds / self.rate


def clock_of(root: HostRoot) -> Clock:
    """The clock of a host: its marker's `rate` and `begin` where it is a running drill host, else the machine's."""
    if root.live or not root.may_run():
        return Clock()
    try:
        marker = json.loads((root.path / DRILL_MARKER).read_bytes())
        rate, begin = float(marker.get("rate", 1.0)), marker.get("begin")
        begin = None if begin is None else float(begin)
    except (OSError, ValueError, TypeError, AttributeError):
        return Clock()
    if not math.isfinite(rate) or not 0.0 < rate <= MAX_RATE or (begin is not None and not math.isfinite(begin)):
        return Clock()
    return Clock(rate, begin)
