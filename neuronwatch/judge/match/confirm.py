"""From the place of a literal to a hit: the line around it, and what `re` says about that line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from neuronwatch.judge.match.branches import Unit, plain_text
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer
from neuronwatch.parse.prefix import strip_ansi

STEP = PIECE - OVERLAP


class PatternTooSlow(BaseException):
    """Raised into `re` by a watchdog (see `Confirmer`). Not an Exception, so that no parser swallows it."""


def line_bounds(data: Buffer, at: int, low: int, high: int) -> tuple[int, int]:
    """Start and end (without the line end) of the line in `data[low:high]` that holds the byte at `at`."""
    newline = data.rfind(b"\n", low, at)
    begin = low if newline < 0 else newline + 1
    back = data.rfind(b"\r", begin, at)
    end = data.find(b"\n", at, high)
    if end < 0:
        end = high
    cut = data.find(b"\r", at, end)
    return (begin if back < 0 else back + 1), (end if cut < 0 else cut)


def pieces(at: int, begin: int, end: int) -> Sequence[tuple[int, int]]:
    """The line itself, or, of a line longer than PIECE, the one or two pieces that hold the byte at `at`."""
    if end - begin <= PIECE:
        return ((begin, end),)
    index = (at - begin) // STEP
    found = [(begin + k * STEP, min(end, begin + k * STEP + PIECE)) for k in (index - 1, index) if k >= 0]
    return [(low, high) for low, high in found if low <= at < high]


def line_text(data: Buffer) -> str:
    """A line as `re` and people see it: UTF-8 with replacement, without ANSI escapes and NULs."""
    text = data.decode("utf-8", "replace")
    if "\0" in text:
        text = text.replace("\0", "")
    return strip_ansi(text) if "[" in text or "\x1b" in text or "\x9b" in text else text


class Confirmer:
    """Asks `re`, a branch at a time. Branches are compiled when first needed: most are never candidates in a scan.

    `asked` counts the questions and `asking` says that one is being answered: a watchdog that sees the same question
    twice raises PatternTooSlow, and the branch is dropped (`dropped`: its regex and the line).
    """

    def __init__(self) -> None:
        self._ask: dict[str, Callable[[str], object]] = {}
        self.asked = 0
        self.asking = False
        self.dropped: dict[str, str] = {}

    def ids(self, units: Iterable[Unit], text: str) -> Sequence[int]:
        """The patterns of those units that are found in `text`, sorted."""
        found: set[int] = set()
        ask = self._ask
        for unit in units:
            regex, ids = unit
            if len(ids) == 1 and ids[0] in found:
                continue
            self.asked += 1
            self.asking = True
            try:
                if (ask.get(regex) or self._compile(regex))(text):
                    found.update(ids)
            except PatternTooSlow:
                self.dropped[regex] = text[:200]
                ask[regex] = _never
            finally:
                self.asking = False
        return sorted(found)

    def _compile(self, regex: str) -> Callable[[str], object]:
        plain = plain_text(regex)
        ask: Callable[[str], object]
        if plain is not None:
            ask = _holds(plain)
        else:
            ask = re.compile(regex).search
        self._ask[regex] = ask
        return ask


def _holds(plain: str) -> Callable[[str], bool]:
    return lambda text: plain in text


def _never(text: str) -> None:
    return None
