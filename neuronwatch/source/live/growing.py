"""One text that grows: its end in memory, what it said for good, and what it says until it goes on."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from neuronwatch.judge.evidence import Evidence, Match, Provisional, Window
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source import recognise
from neuronwatch.source.chunks import CHUNK, UNKNOWN
from neuronwatch.source.limits import Limits
from neuronwatch.source.live.busy import SATURATED, Busy
from neuronwatch.source.plan import Plan
from neuronwatch.source.textscan import UNSETTLED, Item, TextScan
from neuronwatch.source.windows import MAX_BACK

QUIET = 0.06
"""Seconds without news after which a text's open windows are told (more than the longest rest of a busy file),"""
BUSY = 0.2
"""and after which they are told of a text that is never quiet."""
PER_LINE = 0.0005
"""So much longer for each line of them: what is told anew is parsed anew."""
LONGEST_LINE = 256 * 1024
"""Of a longer line that does not end, so much is scanned at a time."""
UNFINISHED = ""
"""Name under which hits in a line without its end, and those whose kind is not settled, are provisional."""


class GrowingText:
    """One text: the lines around its end in `buffer`, of which those from `start` on are not scanned yet."""

    def __init__(self, path: str, plan: Plan, limits: Limits, rules: RuleSet, line: int, busy: Busy) -> None:
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
        self._busy = busy
        self._thin_from = -1
        """The offset of the last part, when it was scanned without saturated signatures."""
        self._thin_lines = 0
        """Lines of such parts since the last whole one."""
        self._binary = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._unsettled: list[Match] = []
        self._told: dict[str, tuple[int, ...]] = {}
        """What is provisional: by name, numbers that change when it does."""
        self._report = ("", "")
        self._changed = False
        self.fed_at = self._told_at = float("-inf")
        self._open_lines = 0

    def feed(self, data: bytes, now: float) -> Iterator[Evidence]:
        self.fed_at, self._changed = now, True
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
        yield from self._scanned(cut, now)

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

    def _scanned(self, cut: int, now: float) -> Iterator[Evidence]:
        scan, told = self._scan, self._told
        items = self._fed_to_scan(cut, now)
        items += scan.closed()
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
        scan.release()
        self._trim(2 * MAX_BACK)
        report = self._new_report()
        if report is not None:
            yield report

    def _fed_to_scan(self, cut: int, now: float) -> list[Item]:
        scan, busy = self._scan, self._busy
        counts = scan.thinning.count
        busy.choose(counts, scan.seen, now)
        scan.thinning.full = busy.matcher
        if busy.thinned:
            series = [number for number in busy.thinned if self._plan.is_series(number)]
            scan.thinning.thin_series = sorted(series)
            scan.thinning.thin_formats = sorted(busy.thinned.difference(series))
        lines = self._buffer.count(b"\n", self._start, cut)
        self.line += lines
        before = {} if busy.saturated or not self._thin_lines else dict(counts)
        items: list[Item] = list(scan.feed(self._buffer, self._base, self._start, cut, UNKNOWN))
        if busy.saturated:
            self._thin_from = self._base + self._start
            self._thin_lines += lines
        else:
            self._thin_from = -1
            for number, count in before.items():  # what was not looked for is estimated by what was
                if count > SATURATED and counts[number] > count:
                    counts[number] += (counts[number] - count) * self._thin_lines // max(1, lines)
            self._thin_lines = 0
        busy.took(self._buffer, self._start, cut, counts, scan.seen, now)
        return items

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
        if self._thin_from >= self._base:  # it is looked at again when the text is quiet
            at = min(at, self._thin_from - self._base)
        del self._buffer[:at]
        self._base += at
        self._start -= at

    def due(self) -> float:
        """When `tell` is to be called."""
        if not self._changed:
            return float("inf")
        return max(
            min(self.fed_at + QUIET, self._told_at + BUSY if self._told_at > 0 else self.fed_at + QUIET),
            self._told_at + PER_LINE * self._open_lines,
        )

    def tell(self, now: float) -> Iterator[Evidence]:
        """What may still go on, as far as it changed since it was told."""
        self._changed, self._told_at = False, now
        if self._thin_from >= self._base:
            if now - self.fed_at < QUIET:
                self._changed = True  # more comes; once it is quiet, this is looked at
            else:
                self._scan.look_again(self._buffer, self._base, self._thin_from - self._base, self._start, self._busy.saturated)
                self._thin_from = -1
        yield from self._settled(list(self._scan.counted()))
        self._scan.release()
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
        reason = "binary" if self._binary else "; ".join(self._busy.notes)
        if (name, reason) == self._report:
            return None
        self._report = (name, reason)
        return SourceReport(self.path, name, "skipped" if self._binary else "read", reason)

    def skip(self, lines: int, alone: bool = False) -> Iterator[Evidence]:
        """So many lines are left out behind what came so far. `alone`: no line in front of the next ones belongs to them, even
        where none is left out."""
        if len(self._buffer) > self._start:  # the line that they interrupt
            yield from self._scanned(len(self._buffer), self.fed_at)
        yield from self._settled(list(self._scan.skip(lines)))
        self.line += lines
        if lines or alone:
            self._base += len(self._buffer)
            self._buffer.clear()
            self._start = 0
        for name in [name for name in self._told if name]:
            yield self._provisional(name, [])

    def finish(self) -> Iterator[Evidence]:
        if len(self._buffer) > self._start and not self._binary:
            yield from self._scanned(len(self._buffer), self.fed_at)
        self._busy.end()
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
