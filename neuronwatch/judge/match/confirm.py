"""From the place of a literal to a hit: the line around it, and what `re` says about that line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from neuronwatch.judge.match.branches import Unit, plain_text
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer
from neuronwatch.parse.prefix import strip_ansi

STEP = PIECE - OVERLAP
_COLOUR = re.compile(r"\[[0-9;]{0,24}m")
"""All that `strip_ansi` removes besides real escapes has this in it; this is cheaper to look for."""


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
    if "\x1b" in text or "\x9b" in text or _COLOUR.search(text):
        return strip_ansi(text)
    return text


class Confirmer:
    """Asks `re`, a branch at a time. Branches are compiled when first needed: most are never candidates in a scan.

    `asked` counts the questions and `asking` says that one is being answered: a watchdog that sees the same question
    twice raises PatternTooSlow, and the branch is dropped (`dropped`: its regex and the line).
    """

    def __init__(self) -> None:
        self._search: dict[str, Callable[[str], object]] = {}
        self._match: dict[str, Callable[[str, int], object]] = {}
        self.asked = 0
        self.asking = False
        self.dropped: dict[str, str] = {}

    def holds(self, unit: Unit, text: str) -> bool:
        """Whether the unit is found in `text`."""
        return self._ask(unit.regex, text, ())

    def found(self, regex: str, text: str) -> bool:
        """Whether a regular expression is found in `text`."""
        return self._ask(regex, text, ())

    def matches(self, regex: str, text: str, most: int) -> list[re.Match[str]]:
        """The first matches of a regular expression in `text`, none when it takes for ever."""
        if regex in self.dropped:
            return []
        self.asked += 1
        self.asking = True
        try:
            return list(itertools.islice(re.finditer(regex, text), most))
        except PatternTooSlow:
            self._drop(regex, text)
            return []
        finally:
            self.asking = False

    def _drop(self, regex: str, text: str) -> None:
        self.dropped[regex] = text[:200]
        self._search[regex] = self._match[regex] = _never

    def ids(self, asked: Iterable[tuple[Unit, Sequence[str]]], text: str) -> Sequence[int]:
        """The patterns of those units that are found in `text`, sorted. Each unit comes with the literals (lower case) one
        of which begins its match, or with none when that is not known."""
        found: set[int] = set()
        plain = text.isascii()  # else the lower-case text may have other offsets
        for unit, heads in asked:
            if (len(unit.ids) > 1 or unit.ids[0] not in found) and self._ask(unit.regex, text, heads if plain else ()):
                found.update(unit.ids)
        return sorted(found)

    def _ask(self, regex: str, text: str, heads: Sequence[str]) -> bool:
        self.asked += 1
        self.asking = True
        try:
            if not heads:
                return bool((self._search.get(regex) or self._compile(regex)[0])(text))
            match = self._match.get(regex) or self._compile(regex)[1]
            low = text.lower()
            for head in heads:
                at = low.find(head)
                while at >= 0:
                    if match(text, at):
                        return True
                    at = low.find(head, at + 1)
            return False
        except PatternTooSlow:
            self._drop(regex, text)
            return False
        finally:
            self.asking = False

    def _compile(self, regex: str) -> tuple[Callable[[str], object], Callable[[str, int], object]]:
        plain = plain_text(regex)
        if plain is not None:
            search: Callable[[str], object] = _holds(plain)
            match: Callable[[str, int], object] = _starts(plain)
        else:
            pattern = re.compile(regex)
            search, match = pattern.search, pattern.match
        self._search[regex], self._match[regex] = search, match
        return search, match


def _holds(plain: str) -> Callable[[str], object]:
    return lambda text: plain in text


def _starts(plain: str) -> Callable[[str, int], object]:
    return lambda text, at: text.startswith(plain, at)


def _never(text: str, at: int = 0) -> None:
    return None
