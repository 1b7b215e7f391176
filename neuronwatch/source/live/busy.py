"""A text with thousands of lines a second gets a matcher of its own, which passes by what is ordinary in it.

It finds the same. From it comes a lighter one, without signatures that have hit more than a thousand times in this text (they
tell nothing new) and formats with ten thousands of lines: these are looked for in one part each second. Counts of such
signatures are estimates then, and their last hit is looked for before the text is quiet; of such formats lines with NaN, inf
or an error are read always. All others stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.judge.match import Buffer, Matcher
from neuronwatch.source.limits import Limits
from neuronwatch.source.live.making import Making
from neuronwatch.source.plan import Plan

RATE = 1_000.0
"""Lines a second, over two WINDOWs, from which a text is busy,"""
CALM = 500.0
"""and below which it is not any more."""
WINDOW = 1.0
SAMPLE = 128 * 1024
SATURATED = 1_000
FORMAT_LINES = 20_000
"""Lines of a format that are read exactly; of a series `Limits.series_lines`."""
EACH = 1.0
RELIEF = 2.0
"""Seconds before more is left out: that costs a few milliseconds."""
AHEAD = 1 << 34
"""Bytes that are expected of a busy text."""
MOST = 4
"""Texts that have such a matcher at the same time: each takes a few megabytes."""


class Busy:
    """For one text. `matcher` is what its next part is to be scanned with."""

    def __init__(self, plan: Plan, limits: Limits, crowd: set[int]) -> None:
        """`crowd`: those that have a matcher of their own, of all texts."""
        self.matcher: Matcher = plan.matcher
        self.saturated: frozenset[int] = frozenset()
        """The signatures that `matcher` leaves out; empty: it finds everything."""
        self.thinned: frozenset[int] = frozenset()
        """The triggers among all that were ever left out."""
        self._plan = plan
        self._limits = limits
        self._crowd = crowd
        self._whole: Matcher | None = None
        """The text's own matcher, which finds everything,"""
        self._lean: Matcher | None = None
        """and without what is saturated."""
        self._guarded = self._guards_made = False
        """Whether it finds what thinned formats are asked for, and the one that is being made."""
        self._making: Making | None = None
        self._left_out: frozenset[int] = frozenset()
        self._relieved_at = self._whole_at = float("-inf")
        self._since = float("-inf")
        self._lines = self._busy = 0
        self._sample = bytearray()

    def choose(self, counts: Mapping[int, int], seen: Mapping[int, int], now: float) -> None:
        """Sets `matcher` and `saturated` for the part that is scanned now. `counts` are the hits so far by
        signature, `seen` the trigger lines by index of format."""
        if self._making is not None:
            self._take(self._making.made, counts, seen, now)
        if self._whole is None or self._lean is None:
            return
        if now - self._relieved_at > RELIEF:
            self._relieve(counts, seen, now)
        if self._left_out and now - self._whole_at >= EACH:
            self._whole_at = now
            self.matcher, self.saturated = self._whole, frozenset()
        else:
            self.matcher, self.saturated = self._lean, self._left_out

    def took(self, data: Buffer, start: int, end: int, counts: Mapping[int, int], seen: Mapping[int, int], now: float) -> None:
        """A part was scanned."""
        self._lines += data.count(b"\n", start, end)
        passed = now - self._since
        if self._whole is None and (self._busy or self._lines > RATE * WINDOW) and len(self._sample) < SAMPLE:
            self._sample += data[start:end]
        if passed < WINDOW:
            return
        rate = self._lines / passed if passed < 10 * WINDOW else 0.0
        self._since, self._lines = now, 0
        if self._whole is not None:
            if rate < CALM:
                self.end()
        elif rate < RATE:
            self._busy = 0
            self._sample.clear()
        else:
            self._busy += 1
            if (self._busy > 2 or rate > 4 * RATE) and len(self._sample) >= SAMPLE // 2 and len(self._crowd) < MOST:
                self._crowd.add(id(self))
                self._make(False)

    def _due(self, counts: Mapping[int, int], seen: Mapping[int, int]) -> frozenset[int]:
        plan = self._plan
        signatures = [number for number, count in counts.items() if number < plan.first_trigger and count > SATURATED]
        full = set()
        for index, lines in seen.items():
            if lines > (self._limits.series_lines if plan.line_formats[index].series else FORMAT_LINES):
                full.add(index)
        triggers = [plan.first_trigger + at for at, index in enumerate(plan.format_of) if index in full]
        return frozenset((*signatures, *triggers))

    def _make(self, guarded: bool) -> None:
        """Begins to make the text's own matcher; `guarded`: with what thinned formats are asked for."""
        if self._making is None:
            plan, sample = self._plan, bytes(self._sample)
            guards = (*plan.series_guards, plan.trouble_guard) if guarded else ()
            self._guards_made = guarded
            self._making = Making(lambda: plan.matcher.lean(frozenset(), guards, sample, AHEAD))

    def _take(self, made: Matcher | None, counts: Mapping[int, int], seen: Mapping[int, int], now: float) -> None:
        if made is not None:
            self._making, self._whole, self._guarded = None, made, self._guards_made
            self._left_out = frozenset()
            self._lean = made
            self._relieve(counts, seen, now)

    def _relieve(self, counts: Mapping[int, int], seen: Mapping[int, int], now: float) -> None:
        """Leaves out what is saturated by now."""
        assert self._whole is not None
        self._relieved_at = now
        due = self._due(counts, seen)
        triggers = frozenset(number for number in due if number >= self._plan.first_trigger)
        if triggers and not self._guarded:
            self._make(True)
            due -= triggers
        if due - self._left_out:
            self._left_out |= due
            self.thinned |= frozenset(number for number in due if number >= self._plan.first_trigger)
            self._lean = self._whole.lean(self._left_out, (), b"", 0)  # nothing is compiled

    @property
    def notes(self) -> list[str]:
        """What is not read exactly."""
        plan = self._plan
        said = ["counts above 1,000 are estimates"] if any(number < plan.first_trigger for number in self._left_out) else []
        for index in sorted({plan.format_index(number) for number in self.thinned}):
            fmt = plan.line_formats[index]
            said.append(f"{fmt.name} thinned after {self._limits.series_lines if fmt.series else FORMAT_LINES:,} lines")
        return said

    def end(self) -> None:
        """Back to the matcher of all texts."""
        self._crowd.discard(id(self))
        self._whole = self._lean = self._making = None
        self._left_out = self.saturated = frozenset()
        self.matcher, self._busy = self._plan.matcher, 0
        self._sample.clear()
