"""One text, chunk by chunk: hits become `Match`es, `Counted` and `Window`s."""

from __future__ import annotations

import copy
import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import NamedTuple, Union

from neuronwatch.judge.evidence import Counted, Match, Window
from neuronwatch.judge.match import required_literals
from neuronwatch.judge.match.confirm import line_bounds, line_text
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer, Hit
from neuronwatch.model.records import MAX_TEXT
from neuronwatch.parse.api import Kind, Line
from neuronwatch.source.limits import Limits
from neuronwatch.source.lines import Counter, cut_around, make_line
from neuronwatch.source.plan import NOT_FINITE, TROUBLES, Plan
from neuronwatch.source.thinning import WORTH_IT, Part, Thinning
from neuronwatch.source.windows import WindowBuilder

Item = Union[Match, Counted, Window]

UNSETTLED = "unsettled"
"""The kind of a match while the kind of its text may still change."""

SAMPLE = 128 * 1024
PIECES = 32
"""What is known of a stream comes from so many places of its first chunk."""
LONG_LINES = 256 * 1024 * 1024
"""So many bytes of lines longer than PIECE are given to formats in full."""
NARROW = 4
"""One trigger line of a format counts as many of a wide one, where a file is called by its format."""
MOSTLY = 0.5
"""A file is of a kind when this share of the lines of its first chunk holds triggers of that kind."""


@lru_cache(maxsize=4096)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


class _Last(NamedTuple):
    """The latest hit of a signature, kept raw: most are overtaken by the next one."""

    number: int
    raw: bytes
    kind: str


class _Guard(NamedTuple):
    """What the lines of a guard are asked for: `thinned` formats there are, and those that still want lines. A line that
    one of them wants holds one of `literals` (in lower case; none: they do not say)."""

    thinned: int
    wanting: list[tuple[int, re.Pattern[str]]]
    literals: tuple[bytes, ...]


class TextScan:
    """Feed it whole lines in order, then `finish`. `kind` of the file is settled by its first chunk, unless given.

    `exact`: lines get their numbers at once. `big`: what there is too much of may be thinned (see thinning.py).
    """

    def __init__(
        self, path: str, plan: Plan, limits: Limits, *, exact: bool, kind: Kind | None = None, formats: bool = True,
        big: bool = False, size: int = 0, settling: int = 0, first_line: int = 1,
    ) -> None:  # fmt: skip
        """`settling`: the kind may change while so many bytes come (of a text that grows the first chunk is one line)."""
        self.path = path
        self.kind: Kind | None = kind
        self.data: Buffer = b""
        self.base = self.begin = self.end = 0
        self.seen: Tally[int] = Tally()
        """Trigger lines by index of line format."""
        self.found = False
        """Whether there was any hit of a signature."""
        self.thinning = Thinning(plan, limits, size)
        self._plan = plan
        self._limits = limits
        self._formats = formats
        self._big = big
        self._settling = settling
        self._kinds: Tally[Kind] = Tally()
        self._of_kinds = 0
        self._counter = Counter(exact, first_line)
        self._last: dict[int, _Last] = {}
        self._delivered: Tally[int] = Tally()
        self._builders: dict[int, WindowBuilder] = {}
        self._lines: dict[int, Line] = {}
        self._long = 0
        self._complete = self._series = True
        self._guards: dict[bool, _Guard] = {}

    def line(self, start: int, end: int) -> Line:
        """The line [start, end) of the chunk; made once."""
        line = self._lines.get(start)
        if line is None:
            if end - start > PIECE:
                # A few long lines are documents (neuron-monitor), many are noise.
                self._long += end - start
                end = end if self._long <= LONG_LINES else start + PIECE
            number = self._counter.number(self.data, self.base, start)
            line = make_line(self.path, number, self.data[start - self.base : end - self.base])
            self._lines[start] = line
        return line

    def feed(self, data: Buffer, base: int, start: int, end: int, left: int = 0) -> Iterator[Item]:
        """Scans `data[start:end]`; `data[:start]` are whole lines scanned before, for the lines before a trigger.
        `data[0]` is at the offset `base` of the source, `left` are the bytes behind this chunk (0: it is the last)."""
        self.data, self.base, self.begin, self.end = data, base, base, base + end
        self._lines.clear()
        if self._big and not self.thinning.sample:
            self.thinning.sample = bytes(data[start : min(end, start + SAMPLE)])
            if left > WORTH_IT:
                step = (end - start) // PIECES
                self.thinning.learn([bytes(data[at : at + step // 4]) for at in range(start, end - step + 1, step)])
        parts = self.thinning.parts(data, start, end, left) if self._big else [Part(start, end, self.thinning.full, True, True)]
        for part in parts:
            self._complete, self._series = part.complete, part.series
            asked = self._big and bool(self.thinning.thin_formats)
            self._plan.matcher.confirm.unwanted = self._unwanted if asked else None
            self._plan.matcher.confirm.guard_texts = self._guard_texts if asked else None
            hits = part.matcher.scan(data, base, part.start, part.end)
            if self.kind is None or self._settling:
                self.kind = self._settle_kind(hits, data, part.start, part.end)
                self._settling = max(0, self._settling - (part.end - part.start))
            yield from self._by_line(hits)
            if self._big:
                self.thinning.end_of_part(data, part, left)
        for index, builder in self._builders.items():
            builder.extend(self, self.end)
            if builder.done:
                yield from self._windows(index, builder)
        self._counter.advance(data, base, base + end)

    def _by_line(self, hits: list[Hit]) -> Iterator[Item]:
        at = 0
        while at < len(hits):
            stop = at + 1
            while stop < len(hits) and hits[stop].line_start == hits[at].line_start:
                stop += 1
            yield from self._line_hits(hits[at:stop])
            at = stop

    def owes(self) -> bool:
        """Whether a window still wants lines behind the last chunk."""
        return any(builder.owes for builder in self._builders.values())

    def extend(self, data: Buffer, base: int, end: int) -> None:
        """Gives the windows the lines `data[:end]` behind the last chunk, which are not scanned."""
        self.data, self.base, self.begin, self.end = data, base, base, base + end
        self._lines.clear()
        for builder in self._builders.values():
            builder.extend(self, self.end)

    def twin(self) -> TextScan:
        """A scan for another range of the same file, with what was learnt so far."""
        twin = TextScan(self.path, self._plan, self._limits, exact=False, kind=self.kind, formats=self._formats, big=True)
        twin.thinning = self.thinning.twin()
        return twin

    @property
    def settled(self) -> bool:
        """Whether the kind does not change any more."""
        return not self._settling

    def look_again(self, data: Buffer, base: int, start: int, end: int, ids: Set[int]) -> None:
        """Looks for the signatures `ids` in `data[start:end]`, which was scanned without them; they have many hits, so the
        latest is told with those that are only counted."""
        self.data, self.base, self.begin, self.end = data, base, base, base + end
        self._lines.clear()
        kind = UNSETTLED if self._settling else self.kind or "log"
        for hit in self._plan.matcher.scan(data, base, start, end):
            if hit.pattern_id in ids and self._delivered[hit.pattern_id] >= self._limits.exact_hits:
                for _ in self._signature(hit, kind):
                    pass

    def release(self) -> None:
        """Lets go of the lines that were made of the last chunk: of a text that grows, the next one may be hours away."""
        self._lines.clear()

    def skip(self, lines: int) -> Iterator[Window]:
        """So many lines are left out behind the last chunk: no window goes on over them."""
        yield from self._end_windows()
        self._counter.skip(lines)

    def closed(self) -> Iterator[Window]:
        """The windows that no line behind the last chunk can join."""
        for index, builder in self._builders.items():
            if builder.lines:
                builder.close(self)
                yield from self._windows(index, builder)

    def open(self) -> Iterator[Window]:
        """The windows that may go on, as they are so far."""
        for builder in self._builders.values():
            if builder.lines:
                yield Window(builder.format, tuple(builder.lines))

    def held(self) -> int:
        """The bytes of the lines in open windows."""
        return sum(builder.bytes for builder in self._builders.values())

    def trial(self) -> TextScan:
        """One to try a line on that is not finished: nothing that it is fed with changes this one."""
        trial = copy.copy(self)
        trial.seen, trial._kinds, trial._delivered = Tally(self.seen), Tally(self._kinds), Tally(self._delivered)
        trial._counter = copy.copy(self._counter)
        trial._last, trial._lines = {}, {}
        trial._builders = {index: builder.copy() for index, builder in self._builders.items()}
        trial.thinning = self.thinning.twin()
        return trial

    def finish(self) -> Iterator[Item]:
        yield from self._end_windows()
        yield from self.counted()

    def _end_windows(self) -> Iterator[Window]:
        for index, builder in sorted(self._builders.items()):
            builder.finish()
            yield from self._windows(index, builder)

    def counted(self) -> Iterator[Match | Counted]:
        """The latest hits of signatures with many, and how many there were between them and those delivered before."""
        for number, last in sorted(self._last.items(), key=lambda item: (item[1].number, item[0])):
            yield self._match(number, make_line(self.path, last.number, last.raw), last.kind)
            thinning = self.thinning
            further = thinning.count[number] - self._delivered[number] - 1 + thinning.estimate[number] + thinning.rest(number)
            if further > 0:
                yield Counted(self.path, number, further)
            self._delivered[number] += 1 + max(0, further)
        self._last.clear()

    @property
    def format(self) -> str:
        """The name of the line format with the most trigger lines, or "unknown". A wide one must have many more than others:
        every record of neuron-monitor holds something like a listing, every row of `ps` a command."""
        if not self.seen:
            return "unknown"
        formats = self._plan.line_formats
        index = max(self.seen, key=lambda key: (self.seen[key] * (1 if formats[key].wide else NARROW), not formats[key].wide, -key))
        return formats[index].name

    @property
    def notes(self) -> list[str]:
        """What was not read exactly."""
        saturated = self.thinning.saturated
        formats = {self._plan.format_index(number) for number in (*self.thinning.thin_series, *self.thinning.thin_formats)}
        notes = []
        if any(number < self._plan.first_trigger for number in saturated):
            notes.append(f"counts above {self._limits.counted_hits:,} are estimates")
        if self.thinning.minor_left_out:
            notes.append("listings whose words fill this log are only looked for at its start and end")
        for index in sorted(formats):
            fmt = self._plan.line_formats[index]
            limit = self.thinning.series_lines if fmt.series else self._limits.format_lines
            notes.append(f"{fmt.name} thinned after {limit:,} lines")
        return notes

    def _line_hits(self, hits: list[Hit]) -> Iterator[Item]:
        """All hits of one line (or piece of a long line), by pattern id."""
        plan = self._plan
        first, kind = plan.first_trigger, UNSETTLED if self._settling else self.kind or "log"
        formats: dict[int, Hit] = {}
        for hit in hits:
            if hit.pattern_id >= plan.first_guard:
                for index in self._guarded(hit):
                    formats.setdefault(index, hit)
            elif hit.pattern_id >= first and self._wanted_trigger(hit):
                formats.setdefault(plan.format_index(hit.pattern_id), hit)
        for index, hit in formats.items():
            kind = plan.line_formats[index].kind
            if self._formats:
                yield from self._trigger(index, hit)
        for hit in hits:
            if hit.pattern_id < first:
                yield from self._signature(hit, kind)

    def _signature(self, hit: Hit, kind: str) -> Iterator[Item]:
        number = hit.pattern_id
        if not self._big:
            self.thinning.count[number] += 1
        elif self.thinning.note(number):
            if not self._complete:
                self.thinning.needless()
                return
            self.thinning.again(number)
        if self._delivered[number] < self._limits.exact_hits:
            self._delivered[number] += 1
            self.found = True
            yield self._match(number, self.line(hit.line_start, hit.line_end), kind)
        else:
            raw = bytes(self.data[hit.line_start - self.base : hit.line_end - self.base])
            self._last[number] = _Last(self._counter.number(self.data, self.base, hit.line_start), raw, kind)

    def _match(self, number: int, line: Line, kind: str) -> Match:
        if len(line.text) > MAX_TEXT:
            found = self._plan.matcher.confirm.matches(self._plan.regex[number], line.text, 1)
            line = cut_around(line, *(found[0].span() if found else (0, 0)))
        return Match(number, line, kind)

    def _wanted_trigger(self, hit: Hit) -> bool:
        """Whether the line of a trigger is to be read."""
        if not self._big or not self.thinning.note(hit.pattern_id) or self._complete:
            return True
        if self._series and self._plan.is_series(hit.pattern_id):
            return True
        self.thinning.needless()
        raw = self.data[hit.line_start - self.base : hit.line_end - self.base].lower()
        if self._plan.is_series(hit.pattern_id):
            # The cheap question first: there may be a hundred thousand of them.
            return (b"nan" in raw or b"inf" in raw) and any(_compiled(regex).search(line_text(raw)) for regex in NOT_FINITE)
        return any(word in raw for word in TROUBLES) and self._some_left(self._plan.format_index(hit.pattern_id))

    def _guarded(self, hit: Hit) -> list[int]:
        """The thinned formats that want the line of a guard's hit."""
        series = hit.pattern_id != self._plan.trouble_guard.id
        guard = self._guard(series)
        if not guard.wanting:
            if not series:
                self.thinning.unwanted_guard()
            return []
        text = line_text(self.data[hit.line_start - self.base : hit.line_end - self.base])
        found: list[int] = []
        for index, regex in guard.wanting:
            if index not in found and regex.search(text):
                found.append(index)
        return found

    def _unwanted(self, lowered: Buffer) -> bool:
        """Whether no thinned format wants a line for the trouble that it speaks of."""
        guard = self._guard(False)
        if not guard.wanting:
            self.thinning.unwanted_guard()
            return True
        for literal in guard.literals:  # a million lines are asked: no generator
            if literal in lowered:
                return False
        return bool(guard.literals)

    def _guard_texts(self, lines: int) -> tuple[bytes, ...] | None:
        """What a line of trouble that a thinned format wants holds, if that is known; `lines` of them may be passed by."""
        guard = self._guard(False)
        if guard.wanting:
            return guard.literals or None
        self.thinning.unwanted_guard(lines)
        return ()

    def _guard(self, series: bool) -> _Guard:
        thinned = self.thinning.thin_series if series else self.thinning.thin_formats
        guard = self._guards.get(series)
        if guard is None or guard.thinned != len(thinned):
            guard = self._guards[series] = self._new_guard(series, thinned)
        return guard

    def _new_guard(self, series: bool, thinned: Sequence[int]) -> _Guard:
        """Made when there are more thinned formats, or more that are full: an error storm asks a million times."""
        wanting = []
        literals: list[bytes] | None = []
        for number in thinned:
            index = self._plan.format_index(number)
            if series or self._some_left(index):
                regex = self._plan.triggers[number - self._plan.first_trigger].regex
                wanting.append((index, _compiled(regex)))
                found = required_literals(regex)
                literals = None if found is None or literals is None else [*literals, *(text.encode().lower() for text in found[0])]
        return _Guard(len(thinned), wanting, tuple(dict.fromkeys(literals or ())))

    def _some_left(self, index: int) -> bool:
        return self.thinning.guarded[index] < self._limits.trouble_lines

    def _trigger(self, index: int, hit: Hit) -> Iterator[Item]:
        self.seen[index] += 1
        builder = self._builders.get(index)
        if builder is None:
            builder = self._builders[index] = WindowBuilder(self._plan.line_formats[index], self._limits.window_lines)
        low, high = hit.line_start, hit.line_end
        if high - low >= OVERLAP:  # perhaps a piece of a long line: the format gets the line
            low, high = line_bounds(self.data, low - self.base, self.begin - self.base, self.end - self.base)
            low, high = low + self.base, high + self.base
        builder.hit(self, low, high)
        if self._big:
            # The lines around it count too, also those that earlier triggers were still owed.
            brought, builder.charged = builder.added - builder.charged, builder.added
            if hit.pattern_id >= self._plan.first_guard or hit.pattern_id in self.thinning.saturated:
                self.thinning.guarded[index] += brought
                if not self._some_left(index):
                    self._guards.pop(False, None)
            elif brought > 1:
                self.thinning.note(hit.pattern_id, brought - 1)
        if builder.done:
            yield from self._windows(index, builder)

    def _windows(self, index: int, builder: WindowBuilder) -> Iterator[Window]:
        done, builder.done = builder.done, []
        for lines in done:
            yield Window(self._plan.line_formats[index], lines)

    def _settle_kind(self, hits: list[Hit], data: Buffer, start: int, end: int) -> Kind:
        plan = self._plan
        lines: set[tuple[Kind, int]] = set()
        for hit in hits:
            if plan.first_trigger <= hit.pattern_id < plan.first_guard:
                lines.add((plan.line_formats[plan.format_index(hit.pattern_id)].kind, hit.line_start))
        self._kinds.update(kind for kind, _ in lines)
        self._of_kinds += data.count(b"\n", start, end)
        if not self._kinds:
            return "log"
        best = max(self._kinds, key=lambda kind: (self._kinds[kind], kind == "log"))
        return best if self._kinds[best] >= MOSTLY * max(1, self._of_kinds) else "log"
