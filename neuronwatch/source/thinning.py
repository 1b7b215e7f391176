"""What is no longer read line by line in a big file, because there is so much of it.

A signature with thousands of hits is only counted in every 16th chunk; a format with hundreds of thousands of lines is
sampled the same way, with the lines that hold NaN or speak of an error kept. The chunks between are scanned without
these patterns, which is what makes them fast.
"""

from __future__ import annotations

from collections import Counter

from neuronwatch.judge.match import Matcher, Pattern
from neuronwatch.source.limits import Limits
from neuronwatch.source.plan import Plan

COSTLY = 30_000
"""So many needless hits cost about as much as a new table."""


class Thinning:
    """Which patterns of a file are saturated, and the matcher for the chunks in which they are left out."""

    def __init__(self, plan: Plan, limits: Limits, matcher: Matcher) -> None:
        self._plan = plan
        self._limits = limits
        self.full = matcher
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
        self._chunk = 0

    def note(self, pattern_id: int) -> bool:
        """Counts a hit; whether it is one too many. Only to be asked while the file is big."""
        self.count[pattern_id] += 1
        if pattern_id in self.saturated:
            return True
        if self.count[pattern_id] >= self._limit(pattern_id):
            self.saturated.add(pattern_id)
        return False

    def _limit(self, pattern_id: int) -> int:
        if pattern_id < self._plan.first_trigger:
            return self._limits.counted_hits
        return self._limits.series_lines if self._plan.is_series(pattern_id) else self._limits.format_lines

    def next_chunk(self, tail: bool) -> tuple[Matcher, int]:
        """The matcher of the next chunk, and how many chunks it stands for with what is thinned (0: it leaves that out)."""
        self._chunk += 1
        if not self.saturated or tail:
            return self.full, 1
        if self._chunk % self._limits.stride == 0:
            return self.full, self._limits.stride
        if self._thin is None or (self._needless >= COSTLY and self._in_thin != self.saturated):
            self._needless = 0
            self._in_thin = frozenset(self.saturated)
            self._thin = self.full.without(self._in_thin, self._guards())
        return self._thin, 0

    def needless(self) -> None:
        """A hit of a saturated pattern in a chunk that should leave it out."""
        self._needless += 1

    def _guards(self) -> tuple[Pattern, ...]:
        triggers = [number for number in self.saturated if number >= self._plan.first_trigger]
        series = [number for number in triggers if self._plan.is_series(number)]
        guards = self._plan.series_guards if series else ()
        return (*guards, self._plan.trouble_guard) if len(series) < len(triggers) else guards
