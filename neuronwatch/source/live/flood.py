"""Flood control: of a burst of lines the head and the tail are delivered, the rest is counted exactly.

What a sieve finds in the rest is delivered all the same (`LiveScan.sieve`: lines that rules look for): an error in the middle
of a flood is not lost. Memory does not grow with the length of the burst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuronwatch.model.live import Appended

RATE = 20_000.0
"""Lines a second of one text that are delivered for ever,"""
BURST = 20_000
"""and lines that may come at once: the head."""
TAIL, TAIL_BYTES = 1_000, 256 * 1024
"""Lines at the end of a burst that are delivered."""
QUIET = 0.25
"""A burst is over when nothing came for so long, or when the rate is low enough that the head is allowed anew."""
FORGOTTEN = 30.0
AGAIN = 100
"""Lines that a text has at least when it begins anew in a flood."""

Sieve = Callable[[str, bytes, float], Sequence[tuple[int, int]]]
"""Given the path, whole lines and the time: the parts (from, to; whole lines, rising) that are delivered all the same."""


class _Burst:
    __slots__ = ("at", "dropped", "flooding", "tail", "tokens")

    def __init__(self, now: float) -> None:
        self.at = now
        self.tokens = float(BURST)
        self.flooding = False
        self.dropped = 0
        """Lines left out since the last delivery."""
        self.tail = b""
        """The latest lines, not delivered and not dropped yet."""


class Flood:
    """One for all texts of a source. Times are seconds that only grow."""

    def __init__(self, sieve: Sieve | None = None, rate: float = RATE, burst: int = BURST) -> None:
        self.sieve = sieve
        self.dropped = 0
        """Lines left out since the start, of all texts."""
        self._rate = rate
        self._most = burst
        self._bursts: dict[str, _Burst] = {}

    def take(self, appended: Appended, now: float) -> list[Appended]:
        """What is delivered now of new lines."""
        path, data = appended.path, appended.data
        burst = self._bursts.get(path)
        if burst is None:
            burst = self._bursts[path] = _Burst(now)
            burst.tokens = float(self._most)
        found: list[Appended] = []
        if appended.fresh and burst.flooding:
            found += self._end(path, burst)
            burst.tokens = max(burst.tokens, AGAIN)
        burst.tokens = min(float(self._most), burst.tokens + (now - burst.at) * self._rate)
        burst.at = now
        lines = data.count(b"\n")
        if not burst.flooding:
            if lines <= burst.tokens:
                burst.tokens -= lines
                return [*found, appended]
            cut = _behind(data, int(burst.tokens))
            if cut:
                found.append(_with(appended, data[:cut]))
            elif appended.fresh:
                found.append(_with(appended, b""))
            data = data[cut:]
            burst.flooding, burst.dropped, burst.tail = True, 0, b""
        burst.tokens = max(0.0, burst.tokens - lines)
        found += self._middle(path, burst, data, now)
        if burst.tokens > self._most / 4:
            found += self._end(path, burst)
        return found

    def due(self, now: float) -> list[Appended]:
        """The tails of bursts that are over because nothing came any more."""
        found: list[Appended] = []
        for path, burst in list(self._bursts.items()):
            if burst.flooding and now - burst.at >= QUIET:
                found += self._end(path, burst)
                burst.tokens = float(self._most)
            elif not burst.flooding and now - burst.at >= FORGOTTEN:
                del self._bursts[path]
        return found

    def holds(self, path: str) -> bool:
        """Whether this text is flooded now."""
        burst = self._bursts.get(path)
        return burst is not None and burst.flooding

    @property
    def flooding(self) -> bool:
        """Whether `due` has to be called again soon."""
        return any(burst.flooding for burst in self._bursts.values())

    def _middle(self, path: str, burst: _Burst, data: bytes, now: float) -> list[Appended]:
        """Lines inside a burst: the last ones wait. Of those that are not the last any more, what the sieve keeps goes on,
        the others are counted."""
        tail = burst.tail + data
        cut = _before(tail, TAIL)
        if len(tail) - cut > TAIL_BYTES:
            cut = tail.rfind(b"\n", 0, len(tail) - TAIL_BYTES) + 1 or cut
        out, burst.tail = tail[:cut], tail[cut:]
        found, at = [], 0
        for start, end in self.sieve(path, out, now) if self.sieve is not None and out else ():
            self._drop(burst, out.count(b"\n", at, start))
            found.append(Appended(path, out[start:end], dropped=burst.dropped))
            burst.dropped, at = 0, end
        self._drop(burst, out.count(b"\n", at))
        return found

    def _drop(self, burst: _Burst, lines: int) -> None:
        burst.dropped += lines
        self.dropped += lines

    @staticmethod
    def _end(path: str, burst: _Burst) -> list[Appended]:
        tail, dropped = burst.tail, burst.dropped
        burst.flooding, burst.tail, burst.dropped = False, b"", 0
        return [Appended(path, tail, dropped=dropped)] if tail or dropped else []


def _with(appended: Appended, data: bytes) -> Appended:
    return Appended(appended.path, data, appended.fresh, appended.dropped, appended.line, appended.records)


def _behind(data: bytes, lines: int) -> int:
    """The offset behind so many lines."""
    low, high = 0, len(data)
    if not lines:
        return 0
    # Halving and counting is much faster than going from line to line.
    while high - low > 4096:
        middle = (low + high) // 2
        count = data.count(b"\n", low, middle)
        if count < lines:
            lines -= count
            low = middle
        else:
            high = middle
    at = low
    for _ in range(lines):
        newline = data.find(b"\n", at)
        if newline < 0:
            break
        at = newline + 1
    return at


def _before(data: bytes, lines: int) -> int:
    """The offset of the last `lines` lines."""
    total = data.count(b"\n")
    return 0 if total <= lines else _behind(data, total - lines)
