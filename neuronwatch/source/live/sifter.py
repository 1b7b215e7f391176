"""What of a flood is kept: lines that rules and formats look for, a few of each kind; further hits are counted."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from neuronwatch.judge.evidence import Counted
from neuronwatch.judge.match import Hit, Matcher
from neuronwatch.judge.match.candidates import SMALL
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.source.live.busy import AHEAD, SAMPLE
from neuronwatch.source.live.making import Making
from neuronwatch.source.plan import Plan

KEPT = 16
"""Lines of a flood that are kept for each signature, and windows for each format; one of a signature each second after that."""
NEAR = 60
"""Lines around a trigger that are kept at most."""
SIFTED = 30_000
"""After so many hits in a second of a flood only an eighth of the rest of this second is looked through: it says the same
again and again, and not every hit is counted any more."""
FLOOD_OVER = 5.0
"""A flood of which nothing came for so long is over; the next one is another."""


class Sifter:
    """What was kept of one flood."""

    def __init__(self, path: str, plan: Plan, rules: RuleSet) -> None:
        self.path = path
        self.at = float("-inf")
        self.counts: Counter[int] = Counter()
        """Hits since they were told that were not kept."""
        self._plan = plan
        self._rules = rules
        self._kept: Counter[int] = Counter()
        self._kept_at: dict[int, float] = {}
        self._second = self._hits = 0
        self._matcher: Matcher = plan.matcher
        self._sample: bytearray | None = bytearray()
        self._making: Making | None = None

    def sift(self, data: bytes, now: float) -> list[tuple[int, int]]:
        self.at = now
        plan = self._plan
        if int(now) != self._second:
            self._second, self._hits = int(now), 0
        end = len(data) if self._hits < SIFTED else data.rfind(b"\n", 0, len(data) // 8) + 1
        spans: list[tuple[int, int]] = []
        left: list[Hit] = []
        for hit in self._scan(data, end):
            if hit.pattern_id < plan.first_trigger:
                self._hits += 1
                before = after = 0
                if not self._wants(hit.pattern_id, now):
                    left.append(hit)
                    continue
            else:
                fmt = plan.line_formats[plan.format_index(hit.pattern_id)]
                key = -1 - plan.format_index(hit.pattern_id)
                if fmt.series or self._kept[key] >= KEPT:
                    continue
                self._kept[key] += 1
                before, after = min(fmt.before, NEAR), min(fmt.after, NEAR)
            start, stop = _lines_around(data, hit.line_start, hit.line_end, before, after)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            else:
                spans.append((start, stop))
        starts = [start for start, _ in spans]
        for hit in left:  # what is kept is counted when it is scanned
            place = bisect_right(starts, hit.line_start) - 1
            if (place < 0 or hit.line_start >= spans[place][1]) and not self._rules.places[hit.pattern_id].on:
                self.counts[hit.pattern_id] += 1
        return spans

    def _scan(self, data: bytes, end: int) -> list[Hit]:
        """The hits in `data[:end]`, by a matcher that passes by what the flood is made of as soon as that is known."""
        if self._sample is not None:
            self._sample += data[: SAMPLE // 4]
            if len(self._sample) >= SAMPLE:
                plan, sample, self._sample = self._plan, bytes(self._sample), None
                self._making = Making(lambda: plan.matcher.lean(frozenset(), (), sample, AHEAD))
        if self._making is not None and self._making.made is not None:
            self._matcher, self._making = self._making.made, None
        hits: list[Hit] = []
        at = 0
        while at < end:  # small parts are looked through at less cost
            cut = data.rfind(b"\n", at, min(end, at + SMALL)) + 1 or end
            hits += self._matcher.scan(data, 0, at, cut)
            at = cut
        return hits

    def _wants(self, pattern_id: int, now: float) -> bool:
        """Whether one more line of a signature is kept."""
        self._kept[pattern_id] += 1
        if self._kept[pattern_id] > KEPT and now - self._kept_at[pattern_id] < 1.0:
            return False
        self._kept_at[pattern_id] = now
        return True

    def counted(self) -> Iterator[Counted]:
        for pattern_id, count in sorted(self.counts.items()):
            yield Counted(self.path, pattern_id, count)
        self.counts.clear()


def _lines_around(data: bytes, low: int, high: int, before: int, after: int) -> tuple[int, int]:
    """The part of `data`, whole lines, that holds the line [low, high) and so many lines before and after it."""
    for _ in range(before + 1):
        low = data.rfind(b"\n", 0, low) if low else 0
        if low <= 0:
            low = -1
            break
    for _ in range(after + 1):
        newline = data.find(b"\n", high)
        if newline < 0:
            return low + 1, len(data)
        high = newline + 1
    return low + 1, high
