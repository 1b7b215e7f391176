"""Numbers for people: short, of a steady width, with their unit."""

from __future__ import annotations

import time

_SIZES = ("B", "K", "M", "G", "T", "P")


def size(value: float) -> str:
    """Bytes: `512M`, `1.5G`, `96G` (powers of 1024)."""
    step = 0
    while abs(value) >= 999.5 and step < len(_SIZES) - 1:
        value /= 1024
        step += 1
    return f"{value:.0f}{_SIZES[step]}" if step == 0 or abs(value) >= 9.95 else f"{value:.1f}{_SIZES[step]}"


def count(value: float) -> str:
    """`950`, `12.3k`, `4.1M`."""
    for limit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if name == 'k' else limit):.1f}{name}"
    return f"{value:.0f}" if value == int(value) else f"{value:.4g}"


def counted(number: int, what: str) -> str:
    """`1 line`, `3 lines`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def percent(value: float) -> str:
    return f"{value:.0f}%"


def span(seconds: float) -> str:
    """A length of time in at most five characters: `0.4s`, `12s`, `5m`, `3h`, `2d`."""
    if seconds < 0:
        seconds = 0.0
    if seconds < 1:
        return f"{seconds:.1f}s"
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "m"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f}{name}"
    return f"{seconds / 86400:.0f}d"


def clock(moment: float) -> str:
    """The time of day in UTC, of seconds since the epoch."""
    return time.strftime("%H:%M:%S", time.gmtime(moment))


def seconds(value: float) -> str:
    """A latency: `850us`, `12ms`, `1.2s`."""
    if value < 0.001:
        return f"{value * 1e6:.0f}us"
    return f"{value * 1e3:.0f}ms" if value < 1 else f"{value:.1f}s"
