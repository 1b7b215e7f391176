"""Texts that grow become evidence, piece by piece: the same evidence as from reading them whole.

Hits of signatures are told at once. Lines of a format are told when their window is complete; while it may go on (a
traceback at the end of a quiet log) it is told as provisional as soon as the text is quiet, and revised when it goes on.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from neuronwatch.judge.evidence import Counted, Evidence, Match, Provisional, Window
from neuronwatch.judge.match import Hit
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Whole
from neuronwatch.parse.api import FileFormat, LineFormat
from neuronwatch.source import recognise
from neuronwatch.source.chunks import CHUNK, UNKNOWN
from neuronwatch.source.contents import Contents, Reading
from neuronwatch.source.limits import DEFAULT, Limits
from neuronwatch.source.plan import Plan
from neuronwatch.source.rule_files import cache_directory
from neuronwatch.source.streams import Memory
from neuronwatch.source.textscan import UNSETTLED, Item, TextScan
from neuronwatch.source.windows import MAX_BACK

QUIET = 0.05
"""Seconds without news after which a text's open windows are told,"""
BUSY = 0.2
"""and after which they are told of a text that is never quiet."""
PER_LINE = 0.0005
"""So much longer for each line of them: what is told anew is parsed anew."""
LONGEST_LINE = 256 * 1024
"""Of a longer line that does not end, so much is scanned at a time."""
FLOOD_OVER = 5.0
"""A flood of which nothing came for so long is over; the next one is another."""
HELD = 8 * 1024 * 1024
"""Bytes of lines in open windows, of all texts together; above it the largest windows end where they are."""
KEPT = 16
"""Lines of a flood that are kept for each signature, and windows for each format; one of a signature each second after that."""
NEAR = 60
"""Lines around a trigger that are kept at most."""
SIFTED = 30_000
"""After so many hits in a second of a flood only an eighth of the rest of this second is looked through: it says the same
again and again, and not every hit is counted any more."""
UNFINISHED = ""
"""Name under which hits in a line without its end, and those whose kind is not settled, are provisional."""


class LiveScan:
    """Feed it what sources deliver, give what it yields to `engine.observe`, and call `quiet` when it is due.

    `now` is any clock that only grows, in seconds. Not for several threads."""

    def __init__(
        self, rules: RuleSet, line_formats: tuple[LineFormat, ...], file_formats: tuple[FileFormat, ...],
        limits: Limits = DEFAULT,
    ) -> None:  # fmt: skip
        self.plan = Plan(rules.patterns, line_formats, file_formats, cache_directory())
        self._rules = rules
        self._limits = limits
        self._texts: dict[str, _Text] = {}
        self._waiting: set[str] = set()
        self._sifters: dict[str, _Sifter] = {}

    def feed(self, appended: Appended, now: float) -> Iterator[Evidence]:
        """The evidence that the new lines complete. What the text under the path said before it began anew is ended first
        (see `end`)."""
        path = appended.path
        text = self._texts.get(path)
        if appended.fresh and text is not None:
            yield from self.end(path)
            text = None
        if text is None:
            text = self._texts[path] = self._text(path, appended.line)
        if appended.dropped:
            yield from text.skip(appended.dropped)
        yield from text.feed(appended.data, now)
        self._waiting.add(path)

    def quiet(self, now: float) -> Iterator[Evidence]:
        """Tells what may still go on, of all texts for which it is time."""
        for path in [path for path in self._waiting if self._texts[path].due() <= now]:
            self._waiting.discard(path)
            yield from self._texts[path].tell(now)
        for sifter in list(self._sifters.values()):
            yield from sifter.counted()
            if now - sifter.at > FLOOD_OVER:
                del self._sifters[sifter.path]
        yield from self._bounded(now)

    def due(self) -> float:
        """When `quiet` is to be called next; infinite: not before the next `feed`."""
        told = min((self._texts[path].due() for path in self._waiting), default=float("inf"))
        return min([told, *(sifter.at + BUSY for sifter in self._sifters.values() if sifter.counts)])

    def sieve(self, path: str, data: bytes, now: float) -> list[tuple[int, int]]:
        """For `Flood`: which lines inside a flood are kept because rules or formats look for them; further hits of signatures
        are counted, which `quiet` tells."""
        sifter = self._sifters.get(path)
        if sifter is None or now - sifter.at > FLOOD_OVER:
            sifter = self._sifters[path] = _Sifter(path, self.plan, self._rules)
        return sifter.sift(data, now)

    def end(self, path: str) -> Iterator[Evidence]:
        """The text under this path ends: its last windows, as at the end of a file. It is forgotten."""
        text = self._texts.pop(path, None)
        self._waiting.discard(path)
        if text is not None:
            yield from text.finish()

    def whole(self, item: Whole) -> Iterator[Evidence]:
        """The evidence of a text that is as it is now; what it said before is for the caller to forget."""
        if item.data is not None:
            contents = Contents(self.plan, self._limits, None)
            yield from contents.read(Reading(item.path, len(item.data), Memory(item.data), None))

    def renewed(self, rules: RuleSet) -> LiveScan:
        """One for other rules that counts lines on where this one is. This one may then be ended (`end` for each of `paths`)."""
        fresh = LiveScan(rules, self.plan.line_formats, self.plan.file_formats, self._limits)
        for path, text in self._texts.items():
            fresh._texts[path] = fresh._text(path, text.line)
        return fresh

    def paths(self) -> list[str]:
        return sorted(self._texts)

    def _text(self, path: str, line: int) -> _Text:
        return _Text(path, self.plan, self._limits, self._rules, line)

    def _bounded(self, now: float) -> Iterator[Evidence]:
        """Ends windows of the texts that hold most when all hold too much."""
        held = sorted(((text.held(), path) for path, text in self._texts.items()), reverse=True)
        total = sum(size for size, _ in held)
        for size, path in held:
            if total <= HELD:
                return
            total -= size
            yield from self._texts[path].skip(0)
            yield from self._texts[path].tell(now)


class _Sifter:
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

    def sift(self, data: bytes, now: float) -> list[tuple[int, int]]:
        self.at = now
        plan = self._plan
        if int(now) != self._second:
            self._second, self._hits = int(now), 0
        end = len(data) if self._hits < SIFTED else data.rfind(b"\n", 0, len(data) // 8) + 1
        spans: list[tuple[int, int]] = []
        left: list[Hit] = []
        for hit in plan.matcher.scan(data, 0, 0, end):
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


class _Text:
    """One text: the lines around its end in `buffer`, of which those from `start` on are not scanned yet."""

    def __init__(self, path: str, plan: Plan, limits: Limits, rules: RuleSet, line: int) -> None:
        self.path = path
        self._plan = plan
        self._limits = limits
        self._rules = rules
        self._scan = TextScan(path, plan, limits, exact=True, settling=CHUNK, first_line=line)
        self._buffer = bytearray()
        self._base = 0
        self._start = 0
        self.line = line
        """The number of the line at `start`."""
        self._back = max((fmt.before for fmt in plan.line_formats), default=0) + 1
        self._begun = line > 1
        self._binary = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._unsettled: list[Match] = []
        self._told: dict[str, tuple[int, ...]] = {}
        """What is provisional: by name, numbers that change when it does."""
        self._report = ""
        self._changed = False
        self._fed = self._told_at = float("-inf")
        self._open_lines = 0

    def feed(self, data: bytes, now: float) -> Iterator[Evidence]:
        self._fed, self._changed = now, True
        if self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        self._buffer += data
        if not self._begun and not self._begin():
            return
        cut = self._buffer.rfind(b"\n", self._start) + 1
        if cut <= self._start:
            if len(self._buffer) - self._start < LONGEST_LINE:
                return
            cut = self._buffer.rfind(b"\r", self._start, len(self._buffer) - 1) + 1 or len(self._buffer)
        yield from self._scanned(cut)

    def _begin(self) -> bool:
        """Whether the start of the text is such that it can be scanned."""
        head = bytes(self._buffer[: recognise.SNIFFED])
        if self._start == 0 and self._base == 0:
            encoding = recognise.encoding(head)
            if encoding:
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
                self._buffer = bytearray(self._decoder.decode(head).lstrip("\ufeff").encode("utf-8", "replace"))
                head = bytes(self._buffer)
            elif head.startswith(b"\xef\xbb\xbf"):
                del self._buffer[:3]
        if recognise.is_binary(head):
            self._binary = True
            if len(head) >= recognise.SNIFFED:  # it is not going to become a text
                self._buffer.clear()
            return False
        self._binary = False
        self._begun = self._base + len(self._buffer) >= recognise.SNIFFED
        return True

    def _scanned(self, cut: int) -> Iterator[Evidence]:
        scan, told = self._scan, self._told
        self.line += self._buffer.count(b"\n", self._start, cut)
        items: list[Item] = list(scan.feed(self._buffer, self._base, self._start, cut, UNKNOWN))
        items += scan.closed()
        items += scan.counted()
        self._start = cut
        revised = set()
        for item in items:
            if isinstance(item, Window) and told.get(item.format.name, (-1,))[0] == item.lines[0].number:
                revised.add(item.format.name)
        yield from self._settled(items)
        if revised:
            for name, windows in _by_format(scan.open()).items():
                if name in revised:
                    revised.discard(name)
                    yield self._provisional(name, windows)
            for name in sorted(revised):
                yield self._provisional(name, [])
        self._trim(2 * MAX_BACK)
        report = self._new_report()
        if report is not None:
            yield report

    def _settled(self, items: list[Item]) -> Iterator[Evidence]:
        """The items; matches whose kind may still change and matters are held back."""
        for item in items:
            if isinstance(item, Match) and item.kind == UNSETTLED:
                if self._rules.places[item.pattern_id].on:
                    if len(self._unsettled) >= 2 * self._limits.exact_hits:
                        del self._unsettled[self._limits.exact_hits]
                    self._unsettled.append(item)
                    continue
                item = item._replace(kind=self._scan.kind or "log")
            yield item
        if self._scan.settled and self._unsettled:
            yield from self._of_kind()
            self._unsettled = []
            if UNFINISHED in self._told:
                yield self._provisional(UNFINISHED, [])

    def _of_kind(self) -> list[Match]:
        return [item._replace(kind=self._scan.kind or "log") for item in self._unsettled]

    def _trim(self, most: int) -> None:
        """When more than so many bytes are scanned, they leave the buffer, but for the lines that a window may want before
        its trigger."""
        if self._start <= most:
            return
        low = max(0, self._start - MAX_BACK)
        at = self._start
        for _ in range(self._back):
            newline = self._buffer.rfind(b"\n", low, max(low, at - 1))
            if newline < 0:
                at = low if low == 0 else self._buffer.find(b"\n", low, self._start) + 1 or self._start
                break
            at = newline + 1
        del self._buffer[:at]
        self._base += at
        self._start -= at

    def due(self) -> float:
        """When `tell` is to be called."""
        if not self._changed:
            return float("inf")
        return max(
            min(self._fed + QUIET, self._told_at + BUSY if self._told_at > 0 else self._fed + QUIET),
            self._told_at + PER_LINE * self._open_lines,
        )

    def tell(self, now: float) -> Iterator[Evidence]:
        """What may still go on, as far as it changed since it was told."""
        self._changed, self._told_at = False, now
        self._trim(0)
        scan, matches = self._scan, self._of_kind()
        if len(self._buffer) > self._start and not self._binary:
            scan = self._scan.trial()
            items = [*scan.feed(self._buffer, self._base, self._start, len(self._buffer), UNKNOWN)]
            matches += [item._replace(kind=scan.kind or "log") for item in items if isinstance(item, Match)]
            windows = [item for item in items if isinstance(item, Window)]
        else:
            windows = []
        found = _by_format([*windows, *scan.open()])
        self._open_lines = sum(len(window.lines) for group in found.values() for window in group)
        for name in [*found, *(name for name in list(self._told) if name and name not in found)]:
            group = found.get(name, [])
            if self._told.get(name) != _mark(group):
                yield self._provisional(name, group)
        if matches or UNFINISHED in self._told:
            yield Provisional(self.path, UNFINISHED, tuple(matches))
            self._told.pop(UNFINISHED, None)
            if matches:
                self._told[UNFINISHED] = ()
        report = self._new_report()
        if report is not None:
            yield report

    def _provisional(self, name: str, windows: list[Window]) -> Provisional:
        if windows:
            self._told[name] = _mark(windows)
        else:
            self._told.pop(name, None)
        return Provisional(self.path, name, tuple(windows))

    def _new_report(self) -> SourceReport | None:
        """How the text is read, when that changed."""
        name = "binary" if self._binary else self._scan.format
        if name == self._report:
            return None
        self._report = name
        return SourceReport(self.path, name, "skipped" if self._binary else "read", "binary" if self._binary else "")

    def skip(self, lines: int) -> Iterator[Evidence]:
        """So many lines are left out behind what came so far."""
        if len(self._buffer) > self._start:  # the line that they interrupt
            yield from self._scanned(len(self._buffer))
        yield from self._settled(list(self._scan.skip(lines)))
        self.line += lines
        if lines:
            self._base += len(self._buffer)
            self._buffer.clear()
            self._start = 0
        for name in [name for name in self._told if name]:
            yield self._provisional(name, [])

    def finish(self) -> Iterator[Evidence]:
        if len(self._buffer) > self._start and not self._binary:
            yield from self._scanned(len(self._buffer))
        yield from self._settled(list(self._scan.finish()))
        yield from self._of_kind()
        self._unsettled = []
        for name in list(self._told):
            yield self._provisional(name, [])
        report = self._new_report()
        if report is not None:
            yield report

    def held(self) -> int:
        return self._scan.held()


def _by_format(windows: Iterator[Window] | list[Window]) -> dict[str, list[Window]]:
    found: dict[str, list[Window]] = {}
    for window in windows:
        found.setdefault(window.format.name, []).append(window)
    return found


def _mark(windows: list[Window]) -> tuple[int, ...]:
    """The numbers of first lines and the lengths: equal for equal windows, but for a last line that grew."""
    return tuple(
        number for window in windows for number in (window.lines[0].number or 0, len(window.lines), len(window.lines[-1].text))
    )
