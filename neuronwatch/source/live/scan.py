"""Texts that grow become evidence, piece by piece: the same evidence as from reading them whole.

Hits of signatures are told at once. Lines of a format are told when their window is complete; while it may go on (a
traceback at the end of a quiet log) it is told as provisional as soon as the text is quiet, and revised when it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.live import Appended, Whole
from neuronwatch.parse.api import FileFormat, LineFormat
from neuronwatch.source.contents import Contents, Reading
from neuronwatch.source.limits import DEFAULT, Limits
from neuronwatch.source.live.busy import Busy
from neuronwatch.source.live.growing import BUSY, GrowingText
from neuronwatch.source.live.sifter import FLOOD_OVER, Sifter
from neuronwatch.source.plan import Plan
from neuronwatch.source.rule_files import cache_directory
from neuronwatch.source.streams import Memory

PARKED, MOST_PARKED = 6 * 3600.0, 4096
"""Seconds of silence after which a text is ended, and how many such are known by name."""
HELD = 2 * 1024 * 1024
"""Bytes of lines in open windows, of all texts together; above it the largest windows end where they are."""


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
        self._texts: dict[str, GrowingText] = {}
        self._waiting: set[str] = set()
        self._sifters: dict[str, Sifter] = {}
        self._crowd: set[int] = set()
        self._parked: dict[str, int] = {}
        self._park_at = float("-inf")

    def feed(self, appended: Appended, now: float) -> Iterator[Evidence]:
        """The evidence that the new lines complete. What the text under the path said before it began anew is ended first
        (see `end`)."""
        path = appended.path
        text = self._texts.get(path)
        if appended.fresh and text is not None:
            yield from self.end(path)
            text = None
        if text is None:
            known = self._parked.pop(path, 0)
            text = self._texts[path] = self._text(path, appended.line if appended.fresh or not known else known)
        if appended.dropped:
            yield from text.skip(appended.dropped)
        yield from text.feed(appended.data, now)
        if appended.records:  # else windows would stay open for the next record, and all of them be parsed again each time
            yield from text.skip(0, alone=True)
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
        if now >= self._park_at:
            yield from self._park(now)

    def _park(self, now: float) -> Iterator[Evidence]:
        """Of texts that were silent for hours only the number of the next line is kept: a host has new logs every day."""
        self._park_at = now + PARKED / 10
        for path, text in list(self._texts.items()):
            if now - text.fed_at > PARKED:
                line = text.line
                yield from self.end(path)
                self._parked[path] = line
        while len(self._parked) > MOST_PARKED:
            del self._parked[next(iter(self._parked))]

    def due(self) -> float:
        """When `quiet` is to be called next; infinite: not before the next `feed`."""
        told = min((self._texts[path].due() for path in self._waiting), default=float("inf"))
        return min([told, *(sifter.at + BUSY for sifter in self._sifters.values() if sifter.counts)])

    def sieve(self, path: str, data: bytes, now: float) -> list[tuple[int, int]]:
        """For `Flood`: which lines inside a flood are kept because rules or formats look for them; further hits of signatures
        are counted, which `quiet` tells."""
        sifter = self._sifters.get(path)
        if sifter is None or now - sifter.at > FLOOD_OVER:
            sifter = self._sifters[path] = Sifter(path, self.plan, self._rules)
        return sifter.sift(data, now)

    def end(self, path: str) -> Iterator[Evidence]:
        """The text under this path ends: its last windows, as at the end of a file. It is forgotten."""
        self._parked.pop(path, None)
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
        fresh._parked = dict(self._parked)
        return fresh

    def paths(self) -> list[str]:
        return sorted(self._texts)

    def _text(self, path: str, line: int) -> GrowingText:
        return GrowingText(path, self.plan, self._limits, self._rules, line, Busy(self.plan, self._limits, self._crowd))

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
