"""The host's own time: it runs `rate` times as fast as ours. Wall time begins at ours; steps of the wall clock can be played."""

from __future__ import annotations

import time

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Clock:
    """`wall()`: seconds since the epoch as the host tells it; `uptime()`: seconds since its boot."""

    def __init__(self, rate: float = 1.0, *, uptime: float = 86_400.0, wall: float | None = None) -> None:
        self.rate = rate
        self._real = time.monotonic()
        self._wall = time.time() if wall is None else wall
        self.begin = self._wall
        """The wall time at which the host's clock and ours agreed."""
        self._uptime = uptime
        self.now = self._wall
        """The time of the tick that is under way: everything that one tick writes carries it or a moment after it."""

    def tick(self) -> float:
        """Moves to the present; gives the seconds of host time since the last tick."""
        before, self.now = self.now, self.wall()
        return max(0.0, self.now - before)

    def advance(self, seconds: float) -> None:
        """Moves by hand, for tests: the host's time goes on by so much at once, which the next tick sees."""
        self._wall += seconds
        self._uptime += seconds

    def wall(self) -> float:
        return self._wall + (time.monotonic() - self._real) * self.rate

    def uptime(self) -> float:
        """Seconds since boot at the tick that is under way."""
        return self._uptime + (self.now - self._wall)

    def reboot(self, uptime: float) -> None:
        """The host has booted anew, so many seconds ago."""
        self._uptime = uptime - (self.now - self._wall)

    @property
    def boot(self) -> float:
        """When the host booted, seconds since the epoch."""
        return self._wall - self._uptime


def nrt_stamp(moment: float, digits: int = 6) -> str:
    """`2026-Aug-21 10:14:02.883112`, as libnrt writes it; four digits of a fraction before about 2024 (`.0917`)."""
    parts = time.gmtime(moment)
    micro = int(moment % 1 * 1_000_000)
    fraction = f"{micro:06d}" if digits == 6 else f"{micro // 1000:04d}"
    day = f"{parts.tm_year:04d}-{MONTHS[parts.tm_mon - 1]}-{parts.tm_mday:02d}"
    return f"{day} {parts.tm_hour:02d}:{parts.tm_min:02d}:{parts.tm_sec:02d}.{fraction}"


def syslog_stamp(moment: float) -> str:
    """`Aug  7 10:14:02`."""
    parts = time.gmtime(moment)
    return f"{MONTHS[parts.tm_mon - 1]} {parts.tm_mday:2d} {parts.tm_hour:02d}:{parts.tm_min:02d}:{parts.tm_sec:02d}"


def iso_stamp(moment: float) -> str:
    """`2026-08-21T05:40:12Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
