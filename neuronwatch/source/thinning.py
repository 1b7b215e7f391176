"""What is no longer read line by line in a big file, because there is so much of it.

A signature with thousands of hits is only counted in some chunks; a format with hundreds of thousands of lines is
sampled the same way, with the lines that hold NaN or speak of an error kept. The chunks between are scanned without
these patterns, which is what makes them fast.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from neuronwatch.judge.match import Buffer, Matcher, Pattern
from neuronwatch.source.limits import Limits
from neuronwatch.source.plan import Plan

SETTLED = 8
WORTH_IT = 64 * 1024 * 1024
"""From chunk SETTLED on, when so many bytes are left, a matcher that suits the text is worth its 0.1 s."""
SAMPLED = 256 * 1024
"""So much of a chunk is read as a sample of what is thinned."""
COSTLY = 30_000
"""So many needless hits cost about as much as a new table."""


class Part(NamedTuple):
    """A part of a chunk and the matcher for it. `weight`: what is thinned counts so many times (0: it is left out)."""

    start: int
    end: int
    matcher: Matcher
    weight: int


class Thinning:
    """Which patterns of a file are saturated, and the matcher for the chunks in which they are left out."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self._plan = plan
        self._limits = limits
        self.full = plan.matcher
        self.sample = b""
        """Pieces of the text."""
        self._thin: Matcher | None = None
        self._in_thin: frozenset[int] = frozenset()
        self.count: Counter[int] = Counter()
        """Hits seen, by pattern id (in thinned chunks without those that are left out)."""
        self.guarded: Counter[int] = Counter()
        """Lines of saturated formats that were read for what they hold, by index of format."""
        self.saturated: set[int] = set()
        self.estimate: Counter[int] = Counter()
        """Hits of saturated patterns that a chunk stands for besides its own."""
        self._needless = 0
        self._chunk = self._sampled = 0
        self._tail: Matcher | None = None
        self._guarding: tuple[Pattern, ...] = ()
        self.weight = 1
        self.in_sample: Counter[int] = Counter()
        """Hits of saturated patterns in the latest sample, and how many times as much it stands for."""

    def note(self, pattern_id: int, cost: int = 1) -> bool:
        """Counts a hit (of a format: the lines it brought in); whether it is one too many. Only for big files."""
        self.count[pattern_id] += cost
        if pattern_id in self.saturated:
            return True
        if self.count[pattern_id] >= self._limit(pattern_id):
            self.saturated.add(pattern_id)
        return False

    def _limit(self, pattern_id: int) -> int:
        if pattern_id < self._plan.first_trigger:
            return self._limits.counted_hits
        return self._limits.series_lines if self._plan.is_series(pattern_id) else self._limits.format_lines

    def parts(self, data: Buffer, start: int, end: int, left: int) -> list[Part]:
        """How the next chunk `data[start:end]`, with `left` bytes behind it, is to be scanned: series are exact in the
        tail of a text, all is exact at its very end."""
        self._chunk += 1
        wanted = bool(self.saturated) or (self._chunk >= SETTLED and left > WORTH_IT)
        if not (wanted or self._thin):
            return [Part(start, end, self.full, 1)]
        if left == 0:
            cut = data.rfind(b"\n", start, max(start, end - SAMPLED)) + 1 or start
            return [Part(start, cut, *self._for_tail()), Part(cut, end, self.full, 1)]
        if left < self._limits.tail:
            return [Part(start, end, *self._for_tail())]
        gap = min(self._limits.stride, max(8, self._chunk // 2))
        if self.saturated and self._chunk - self._sampled >= gap:
            cut = data.find(b"\n", min(end, start + SAMPLED), end) + 1 or end
            self.weight = (self._chunk - self._sampled) * (end - start) // max(1, cut - start)
            self._sampled = self._chunk
            self.in_sample.clear()
            return [Part(start, cut, self.full, self.weight), Part(cut, end, *self._matcher())]
        return [Part(start, end, *self._matcher())]

    def rest(self, pattern_id: int) -> int:
        """The hits to be expected in the chunks since the last sample, which no sample stands for."""
        return int(self.in_sample[pattern_id] * self.weight * (self._chunk - self._sampled) / max(1, self._sampled))

    def _matcher(self) -> tuple[Matcher, int]:
        """The matcher that leaves out what is saturated."""
        more = frozenset(self.saturated) - self._in_thin
        if self._thin is None or (self._needless >= COSTLY and more):
            self._needless = 0
            self._sampled = self._sampled or self._chunk
            guards = tuple(guard for guard in self._guards() if guard not in self._guarding)
            base = self._thin or self.full
            self._thin = base.lean(more, guards, self.sample)
            self._in_thin |= more
            self._guarding += guards
        return self._thin, 0 if self._in_thin else 1

    def _for_tail(self) -> tuple[Matcher, int]:
        first = self._plan.first_trigger
        others = frozenset(number for number in self.saturated if number < first or not self._plan.is_series(number))
        if others == self.saturated and self._thin is not None:
            return self._thin, 0
        if self._tail is None:
            self._tail = self.full.lean(others, (), self.sample) if others else self.full
        return self._tail, 1

    def needless(self) -> None:
        """A hit of a saturated pattern in a chunk that should leave it out."""
        self._needless += 1

    def _guards(self) -> tuple[Pattern, ...]:
        triggers = [number for number in self.saturated if number >= self._plan.first_trigger]
        series = [number for number in triggers if self._plan.is_series(number)]
        guards = self._plan.series_guards if series else ()
        return (*guards, self._plan.trouble_guard) if len(series) < len(triggers) else guards
