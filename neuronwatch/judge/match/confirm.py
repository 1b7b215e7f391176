"""From the place of a literal to a hit: the line around it, and what `re` says about that line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from neuronwatch.judge.match.branches import Unit, plain_text
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer, Place
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


def lines_of(places: Sequence[Place], data: Buffer, start: int, end: int) -> tuple[list[int], list[Buffer]]:
    """The lines (ended by \\n only) that hold a place: their starts and their bytes."""
    starts: list[int] = []
    texts: list[Buffer] = []
    high = -1
    for at, _ in places:
        if at >= high:
            low = data.rfind(b"\n", start, at) + 1 or start
            high = data.find(b"\n", at, end)
            if high < 0:
                high = end
            starts.append(low)
            texts.append(data[low:high])
    return starts, texts


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


class Question:
    """A regular expression to be asked: `search(text)` and `match(text, place)` say whether it is found."""

    __slots__ = ("match", "regex", "search")

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.search: Callable[[str], object] = self._first_search
        self.match: Callable[[str, int], object] = self._first_match

    def _prepare(self) -> None:
        """Compiled when first needed: most are never candidates in a scan."""
        plain = plain_text(self.regex)
        if plain is not None:
            self.search, self.match = _holds(plain), _starts(plain)
        else:
            pattern = re.compile(self.regex)
            self.search, self.match = pattern.search, pattern.match

    def _first_search(self, text: str) -> object:
        self._prepare()
        return self.search(text)

    def _first_match(self, text: str, place: int) -> object:
        self._prepare()
        return self.match(text, place)


class Confirmer:
    """Asks `re`, a branch at a time.

    `asked` counts the questions, `asking` says that one is being answered and `current` which: a watchdog that sees the same
    question twice raises PatternTooSlow, and the question is dropped (`dropped`: its regex and the line).
    """

    def __init__(self) -> None:
        self._questions: dict[str, Question] = {}
        self.asked = 0
        self.asking = False
        self.current: Question | None = None
        self.dropped: dict[str, str] = {}
        self.guard = -1
        """A pattern whose hits are not always wanted,"""
        self.unwanted: Callable[[Buffer], bool] | None = None
        """and what says so for a line in lower case: cheaper than to find, report and drop them."""
        self.guard_texts: Callable[[int], tuple[bytes, ...] | None] | None = None
        """The same for many lines (so many are told): each wanted one holds one of these texts in lower case. None: it cannot
        be said like that."""

    def twin(self) -> Confirmer:
        """One for another thread; what is dropped here is not asked there."""
        twin = Confirmer()
        twin._questions, twin.dropped = self._questions, self.dropped
        return twin

    def question(self, regex: str) -> Question:
        """The question for a regular expression; dropped for all who hold it when it is too slow."""
        known = self._questions.get(regex)
        if known is None:
            known = self._questions[regex] = Question(regex)
        return known

    def holds(self, unit: Unit, text: str) -> bool:
        """Whether the unit is found in `text`."""
        return self.found(unit.regex, text)

    def found(self, regex: str, text: str) -> bool:
        """Whether a regular expression is found in `text`."""
        question = self.question(regex)
        self.asked += 1
        self.current = question
        self.asking = True
        try:
            return bool(question.search(text))
        except PatternTooSlow:
            self.drop(text)
            return False
        finally:
            self.asking = False

    def matches(self, regex: str, text: str, most: int) -> list[re.Match[str]]:
        """The first matches of a regular expression in `text`, none when it takes for ever."""
        if regex in self.dropped:
            return []
        self.asked += 1
        self.current = self.question(regex)
        self.asking = True
        try:
            return list(itertools.islice(re.finditer(regex, text), most))
        except PatternTooSlow:
            self.drop(text)
            return []
        finally:
            self.asking = False

    def drop(self, text: str) -> None:
        """The current question takes too long on `text`: it is not asked any more."""
        assert self.current is not None
        self.dropped[self.current.regex] = text[:200]
        self.current.search = self.current.match = _never


def _holds(plain: str) -> Callable[[str], object]:
    return lambda text: plain in text


def _starts(plain: str) -> Callable[[str, int], object]:
    return lambda text, at: text.startswith(plain, at)


def _never(text: str, at: int = 0) -> None:
    return None
