"""From the place of a literal to a hit: the line around it, and what `re` says about that line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer, Hit, Pattern
from neuronwatch.parse.prefix import strip_ansi

STEP = PIECE - OVERLAP


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


def pieces(at: int, begin: int, end: int) -> Iterable[tuple[int, int]]:
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
    """Asks `re`. Patterns are compiled when first needed: most are never candidates in a scan."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._regex = {pattern.id: pattern.regex for pattern in patterns}
        self._search: dict[int, Callable[[str], object]] = {}

    def matches(self, number: int, text: str) -> bool:
        search = self._search.get(number)
        if search is None:
            search = self._search[number] = re.compile(self._regex[number]).search
        return search(text) is not None

    def hits(self, data: Buffer, base: int, low: int, high: int, ids: Sequence[int], text: str | None = None) -> list[Hit]:
        """Hits of the patterns `ids` (sorted) in the line `data[low:high]`."""
        if text is None:
            text = line_text(data[low:high])
        return [Hit(number, base + low, base + high) for number in ids if self.matches(number, text)]
