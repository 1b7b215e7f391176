"""One text, chunk by chunk: hits become `Match`es, `Counted` and `Window`s."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator
from functools import lru_cache

from neuronwatch.judge.evidence import Counted, Match, Window
from neuronwatch.judge.match.types import Buffer, Hit
from neuronwatch.parse.api import Kind, Line
from neuronwatch.source.limits import Limits
from neuronwatch.source.lines import Counter, cut_around, make_line
from neuronwatch.source.plan import Plan
from neuronwatch.source.windows import WindowBuilder

Item = Match | Counted | Window

MOSTLY = 0.5
"""A file is of a kind when this share of the lines of its first chunk holds triggers of that kind."""


@lru_cache(maxsize=4096)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


class TextScan:
    """Feed it whole lines in order, then `finish`. `kind` of the file is settled by its first chunk, unless given."""

    def __init__(self, path: str, plan: Plan, limits: Limits, *, exact: bool, kind: Kind | None, formats: bool = True) -> None:
        self.path = path
        self.kind: Kind | None = kind
        self.data: Buffer = b""
        self.base = self.begin = self.end = 0
        self.seen: Tally[int] = Tally()
        """Trigger lines by index of line format."""
        self.delivered = 0
        self._plan = plan
        self._limits = limits
        self._formats = formats
        self._counter = Counter(exact)
        self._count: Tally[int] = Tally()
        self._last: dict[int, Match] = {}
        self._builders: dict[int, WindowBuilder] = {}
        self._lines: dict[int, Line] = {}

    def line(self, start: int, end: int) -> Line:
        """The line [start, end) of the chunk; made once."""
        line = self._lines.get(start)
        if line is None:
            number = self._counter.number(self.data, self.base, start)
            line = make_line(self.path, number, self.data[start - self.base : end - self.base])
            self._lines[start] = line
        return line

    def feed(self, data: Buffer, base: int, start: int, end: int) -> Iterator[Item]:
        """Scans `data[start:end]`; `data[:start]` are whole lines scanned before, for the lines before a trigger.
        `data[0]` is at the offset `base` of the source."""
        self.data, self.base, self.begin, self.end = data, base, base, base + end
        self._lines.clear()
        hits = self._plan.matcher.scan(data, base, start, end)
        if self.kind is None:
            self.kind = self._settle_kind(hits, data, start, end)
        at = 0
        while at < len(hits):
            stop = at + 1
            while stop < len(hits) and hits[stop].line_start == hits[at].line_start:
                stop += 1
            yield from self._line_hits(hits[at:stop])
            at = stop
        for index, builder in self._builders.items():
            for lines in builder.extend(self, self.end):
                yield Window(self._plan.line_formats[index], lines)
        self._counter.advance(data, base, base + end)

    def finish(self) -> Iterator[Item]:
        for index, builder in sorted(self._builders.items()):
            for lines in builder.finish():
                yield Window(self._plan.line_formats[index], lines)
        for number, match in sorted(self._last.items(), key=lambda item: (item[1].line.number or 0, item[0])):
            yield match
            further = self._count[number] - self._limits.exact_hits - 1
            if further:
                yield Counted(self.path, number, further)

    @property
    def format(self) -> str:
        """The name of the line format with the most trigger lines, or "unknown"."""
        if not self.seen:
            return "unknown"
        index = max(self.seen, key=lambda key: (self.seen[key], -key))
        return self._plan.line_formats[index].name

    def _line_hits(self, hits: list[Hit]) -> Iterator[Item]:
        """All hits of one line (or piece of a long line), by pattern id."""
        first = self._plan.first_trigger
        kind = self.kind or "log"
        by_format: dict[int, Hit] = {}
        for hit in hits:
            if hit.pattern_id >= first:
                by_format.setdefault(self._plan.format_of[hit.pattern_id - first], hit)
        for index, hit in by_format.items():
            kind = self._plan.line_formats[index].kind
            if self._formats:
                yield from self._trigger(index, hit)
        for hit in hits:
            if hit.pattern_id < first:
                yield from self._signature(hit, kind)

    def _signature(self, hit: Hit, kind: Kind) -> Iterator[Item]:
        self._count[hit.pattern_id] += 1
        line = self.line(hit.line_start, hit.line_end)
        if len(line.text) > 2000:
            found = _compiled(self._plan.regex[hit.pattern_id]).search(line.text)
            line = cut_around(line, *(found.span() if found else (0, 0)))
        match = Match(hit.pattern_id, line, kind)
        if self._count[hit.pattern_id] <= self._limits.exact_hits:
            self.delivered += 1
            yield match
        else:
            self._last[hit.pattern_id] = match

    def _trigger(self, index: int, hit: Hit) -> Iterator[Item]:
        self.seen[index] += 1
        builder = self._builders.get(index)
        if builder is None:
            builder = self._builders[index] = WindowBuilder(self._plan.line_formats[index], self._limits.window_lines)
        for lines in builder.hit(self, hit.line_start, hit.line_end):
            yield Window(self._plan.line_formats[index], lines)

    def _settle_kind(self, hits: list[Hit], data: Buffer, start: int, end: int) -> Kind:
        first = self._plan.first_trigger
        lines: dict[Kind, set[int]] = {}
        for hit in hits:
            if hit.pattern_id >= first:
                kind = self._plan.line_formats[self._plan.format_of[hit.pattern_id - first]].kind
                lines.setdefault(kind, set()).add(hit.line_start)
        if not lines:
            return "log"
        best = max(lines, key=lambda kind: (len(lines[kind]), kind == "log"))
        return best if len(lines[best]) >= MOSTLY * max(1, data.count(b"\n", start, end)) else "log"
