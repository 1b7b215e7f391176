"""What is no longer read line by line in a big file, because there is so much of it.

Of a signature with thousands of hits only the places of its literals are counted, and only in samples; of a format with
hundreds of thousands of lines the samples are read, and the lines that hold NaN or speak of an error. All else is scanned
without these patterns, which is what makes it fast.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from neuronwatch.judge.match import Buffer, Matcher
from neuronwatch.source.limits import Limits
from neuronwatch.source.plan import Plan

SETTLED = 8
WORTH_IT = 64 * 1024 * 1024
"""From chunk SETTLED on, when so many bytes are left, a matcher that suits the text is worth its 0.1 s."""
SAMPLED = 64 * 1024
"""So much of a chunk is a sample of what is thinned."""
COSTLY = 2_000
"""So many needless hits cost about as much as to leave more out (it is up to the matcher whether a new table is worth it)."""
EVERYWHERE = 12
"""A signature that is in one of so many pieces from all over a big text, which makes many hits of it, is not going to stop:
counting it is not worth it."""
UNKNOWN = 1 << 62
GUESSED = 1024 * 1024 * 1024
"""What is behind a chunk of a stream, where it is asked what a new matcher is worth."""
TAIL_PART = 128 * 1024
"""The end of a text is parted so finely by which series are read in it again."""


class Part(NamedTuple):
    """A part of a chunk and the matcher for it; `complete`: nothing is left out in it, `series`: no series is."""

    start: int
    end: int
    matcher: Matcher
    complete: bool
    series: bool


class Thinning:
    """Which patterns of a file are saturated, and the matchers for the parts in which they are left out."""

    def __init__(self, plan: Plan, limits: Limits, size: int) -> None:
        """`size` of the text, 0 when it is unknown."""
        self._plan = plan
        self._limits = limits
        self._size = size
        self.series_lines = limits.long_series_lines if not size or size > limits.long_above else limits.series_lines
        self.full = plan.matcher
        self.sample = b""
        """Pieces of the text."""
        self.count: Counter[int] = Counter()
        """Hits seen, by pattern id (of a format: lines)."""
        self.estimate: Counter[int] = Counter()
        """Hits of saturated signatures where they were left out."""
        self.guarded: Counter[int] = Counter()
        """Lines of saturated formats that were read for what they hold, by index of format."""
        self.saturated: set[int] = set()
        self.thin_series: list[int] = []
        self.thin_formats: list[int] = []
        """The triggers among them, of series and of other formats."""
        self._certain: set[int] = set()
        """Signatures that are everywhere."""
        self._density: dict[int, float] = {}
        """Trigger lines of a thinned series for each byte of the latest sample."""
        self._new: set[int] = set()
        self._in_part: Counter[int] = Counter()
        self._ratio: dict[int, float] = {}
        """Hits of a saturated signature for each place of its literals."""
        self._lean: Matcher | None = None
        """Without the saturated patterns `_in_lean`, none of them of a series."""
        self._in_lean: frozenset[int] = frozenset()
        self._thin: Matcher | None = None
        """The same without the triggers of series `_in_thin`."""
        self._in_thin: frozenset[int] = frozenset()
        self._needless = 0
        self._left = 0
        self._chunk = self._sampled = 0
        self._latest: dict[int, float] = {}

    def twin(self) -> Thinning:
        """For another range of the same text: what is saturated here is so there from the start."""
        twin = copy.copy(self)
        twin.count, twin.estimate, twin.guarded, twin._in_part = Counter(), Counter(), Counter(), Counter()
        twin.saturated, twin._new, twin._latest = set(self.saturated), set(), {}
        twin.thin_series, twin.thin_formats = list(self.thin_series), list(self.thin_formats)
        twin._ratio, twin._density = dict(self._ratio), dict(self._density)
        twin._chunk = twin._sampled = SETTLED
        return twin

    def learn(self, pieces: Sequence[bytes]) -> None:
        """Takes in pieces from all over the text, which tell what is everywhere in it."""
        self.sample = b"\n".join(pieces)
        ends = list(accumulate(len(piece) + 1 for piece in pieces))
        places: dict[int, set[int]] = {}
        for hit in self.full.scan(self.sample, 0):
            if hit.pattern_id < self._plan.first_trigger:
                places.setdefault(hit.pattern_id, set()).add(bisect_right(ends, hit.line_start))
        share = self._size / max(1, len(self.sample)) if self._size else len(pieces)
        least = max(len(pieces) / EVERYWHERE, 2 * self._limits.counted_hits / share)
        self._certain = {number for number, found in places.items() if len(found) >= least}

    # ------------------------------------------------------------------------------------------------ hits are noted

    def note(self, pattern_id: int, cost: int = 1) -> bool:
        """Counts a hit (of a format: the lines it brought in); whether it is one too many. Only for big files."""
        self._in_part[pattern_id] += cost
        if pattern_id in self.saturated:
            return True
        self.count[pattern_id] += cost
        if self.count[pattern_id] >= self._limit(pattern_id):
            self._saturate(pattern_id)
        return False

    def again(self, pattern_id: int) -> None:
        """Counts a hit of a saturated signature in a complete part."""
        self.count[pattern_id] += 1

    def needless(self) -> None:
        """A hit of a saturated pattern where it should be left out."""
        self._needless += 1

    def _limit(self, pattern_id: int) -> int:
        if pattern_id < self._plan.first_trigger:
            return self._limits.exact_hits + 1 if pattern_id in self._certain else self._limits.counted_hits
        return self.series_lines if self._plan.is_series(pattern_id) else self._limits.format_lines

    def _saturate(self, pattern_id: int) -> None:
        self.saturated.add(pattern_id)
        self._new.add(pattern_id)
        if pattern_id >= self._plan.first_trigger:
            (self.thin_series if self._plan.is_series(pattern_id) else self.thin_formats).append(pattern_id)

    @property
    def minor_left_out(self) -> bool:
        """Whether listings and their like are not looked for everywhere."""
        return self._lean is not None and self._lean.left_out > 0

    def unwanted_guard(self, lines: int = 1) -> None:
        """Lines that speak of an error, and no thinned format takes any more of them."""
        self._needless += lines
        if self._needless >= COSTLY and self.thin_formats:
            self.saturated.add(self._plan.trouble_guard.id)

    def end_of_part(self, data: Buffer, part: Part, left: int) -> None:
        """To be called when all hits of a part were noted; `left` are the bytes behind it."""
        fresh = [number for number in self._new if number < self._plan.first_trigger]
        if fresh:
            places = self.full.tally(data, part.start, part.end)
            for number in fresh:
                self._ratio[number] = self._in_part[number] / max(1, places.get(number, 0))
        if part.series and left >= self._limits.tail:
            for number in self.thin_series:
                self._density[number] = self._in_part[number] / max(1, part.end - part.start)
        self._new.clear()
        self._in_part.clear()

    # ---------------------------------------------------------------------------------------------- chunks are parted

    def parts(self, data: Buffer, start: int, end: int, left: int) -> list[Part]:
        """How the next chunk `data[start:end]`, with `left` bytes behind it, is to be scanned: the last lines of a series are
        complete, everything is at the very end."""
        self._chunk += 1
        self._left = left if left < UNKNOWN else GUESSED
        wanted = bool(self.saturated) or (self._chunk >= SETTLED and left > WORTH_IT)
        if not self._lean and (not wanted or left < self._limits.tail):
            return [Part(start, end, self.full, True, True)]
        if left == 0:
            cut = data.rfind(b"\n", start, max(start, end - SAMPLED)) + 1 or start
            return [*self._tail_parts(data, start, cut, end - cut), Part(cut, end, self.full, True, True)]
        if left < self._limits.tail:
            return self._tail_parts(data, start, end, left)
        if self.saturated and self._chunk - self._sampled >= min(self._limits.stride, max(8, self._chunk // 2)):
            cut = data.find(b"\n", min(end, start + SAMPLED), end) + 1 or end
            self._take_sample(data, start, cut, end)
            return [Part(start, cut, self._series_matcher(), False, True), Part(cut, end, self._thin_matcher(), False, False)]
        return [Part(start, end, self._thin_matcher(), False, False)]

    def _tail_parts(self, data: Buffer, start: int, end: int, left: int) -> list[Part]:
        """Leaves a series out as long as more of its lines are to come than anybody looks at."""
        parts: list[Part] = []
        known: dict[frozenset[int], Matcher] = {frozenset(): self._series_matcher()}
        while start < end:
            cut = data.rfind(b"\n", start, min(end, start + TAIL_PART)) + 1 or end
            room = left + end - cut
            out = frozenset(n for n in self.thin_series if self._density.get(n, 0.0) * room > self._limits.tail_lines)
            if out not in known:
                known[out] = known[frozenset()].lean(out, left=room)
            parts.append(Part(start, cut, known[out], False, True))
            start = cut
        return parts

    def rest(self, pattern_id: int) -> int:
        """The hits to be expected in the chunks since the last sample."""
        return int(self._latest.get(pattern_id, 0.0) * (self._chunk - self._sampled))

    def _take_sample(self, data: Buffer, start: int, cut: int, end: int) -> None:
        """What the sample `data[start:cut]` tells of the chunks since the last one."""
        passed, self._sampled = self._chunk - self._sampled, self._chunk
        scale = (end - start) / max(1, cut - start)
        self._latest = {}
        places = self.full.tally(data, start, cut)
        for number, ratio in self._ratio.items():
            self._latest[number] = ratio * places.get(number, 0) * scale
            self.estimate[number] += round(self._latest[number] * passed)

    def _series_matcher(self) -> Matcher:
        """Leaves out what is saturated, but not the series."""
        first = self._plan.first_trigger
        others = frozenset(number for number in self.saturated if number < first or number not in self.thin_series)
        more = others - self._in_lean
        if self._lean is None or (self._needless >= COSTLY and more):
            self._needless = 0
            self._sampled = self._sampled or self._chunk
            # The guards come with the first table, also those that are needed later.
            guards = (*self._plan.series_guards, self._plan.trouble_guard) if self._plan.triggers and not self._lean else ()
            if self._lean is None:
                self._lean = self.full.lean(more, guards, self.sample, self._left, self._plan.minor)
                self._lean.sieving = True
            else:
                self._lean = self._lean.lean(more, left=self._left)
            self._in_lean |= more
            self._thin = None
        return self._lean

    def _thin_matcher(self) -> Matcher:
        """Leaves out what is saturated."""
        lean = self._series_matcher()
        series = frozenset(self.thin_series)
        if not series:
            return lean
        if self._thin is None or (self._needless >= COSTLY and series != self._in_thin):
            self._needless = 0
            self._in_thin = series
            self._thin = lean.lean(series, left=self._left)
        return self._thin
