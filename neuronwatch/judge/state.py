"""The state of the fold: what has been observed, file by file. It depends neither on chunking nor on the order of files."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import pairwise

from neuronwatch.judge.memo import Memo, Step
from neuronwatch.judge.series import Bounds, SeriesView
from neuronwatch.model.dataclass import dataclass, field, replace
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.parse.api import Line

MAX_HITS = 64
"""Hits kept for each file and pattern, besides the last; further ones are only counted."""
MAX_FACTS = 20_000
"""Facts kept of each file: no real file says more, and half a million environment variables would be 300 MiB."""
OUTLIVES, MAX_OUTLIVING = "cache.hit", 256
"""What the next run's compiles are held against: a graph that a run took from the cache lies there still."""
BANNERS = (
    "***** Running training *****", "vLLM API server version", "Setting OMP_NUM_THREADS environment variable for each process",
)  # fmt: skip
"""What a run says first: the trainer, the server, torchrun. Each rank may say it."""
MAX_BANNERS = 256
BEFORE_WORK = frozenset(("server_start", "compile"))
"""Series that have points before a run has done any work."""


@dataclass
class Hits:
    """Lines in which one signature was found, in file order: the first MAX_HITS and the last. `seen`: when the latest came
    (seconds on the watch's clock; 0 where nobody watches)."""

    lines: list[Line] = field(default_factory=list)
    last: Line | None = None
    count: int = 0
    seen: float = 0.0

    def add(self, line: Line) -> None:
        self.count += 1
        self.last = line
        if len(self.lines) < MAX_HITS:
            self.lines.append(line)

    def shifted(self, by: int) -> Hits:
        last = None if self.last is None else _shifted_line(self.last, by)
        return Hits([_shifted_line(line, by) for line in self.lines], last, self.count, self.seen)

    def after(self, number: int) -> Hits | None:
        """What is left without the lines up to `number`; the count of those that were only counted goes with them."""
        if self.last is None or self.last.number is None or self.last.number <= number:
            return None
        lines = [line for line in self.lines if line.number is None or line.number > number]
        gone = len(self.lines) - len(lines)
        return Hits(lines or [self.last], self.last, max(1, len(lines)) if gone else self.count, self.seen)


def _shifted_line(line: Line, by: int) -> Line:
    return line if line.number is None else line._replace(number=line.number - by)


@dataclass
class FileState:
    """What one file contributed."""

    hits: dict[int, Hits] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    series: SeriesView = field(default_factory=SeriesView)
    issues: list[str] = field(default_factory=list)
    report: SourceReport | None = None
    told: SourceReport | None = None
    """What the manifest of a bundle says of it."""
    said: dict[str, list[Fact]] = field(default_factory=dict)
    """Facts that live sources tell of it without a text, by source."""
    provisional: dict[str, FileState] = field(default_factory=dict)
    """What its unfinished end says (see `Provisional`)."""
    banners: dict[str, list[int]] = field(default_factory=dict)
    """Lines in which a run says that it begins, by what it says."""

    def note_banners(self, lines: Iterable[Line]) -> None:
        """Remembers the start banners among these lines, of which some may have been told before."""
        for line in lines:
            for banner in BANNERS:
                if banner in line.text and line.number is not None:
                    known = self.banners.setdefault(banner, [])
                    if line.number not in known:
                        insort(known, line.number)
                        del known[1 : len(known) - MAX_BANNERS]

    def last_run(self) -> int:
        """The line at which the last of several runs begins: a banner that came before, and work since. 0: there is one."""
        found = 0
        lines = self.series.lines(BEFORE_WORK) if any(len(known) > 1 for known in self.banners.values()) else []
        for known in self.banners.values():
            for before, line in pairwise(known):
                if bisect_right(lines, before) < bisect_left(lines, line):
                    found = max(found, line)
        return found

    def source(self) -> SourceReport | None:
        """What became of it, on the original and here."""
        report, told = self.report, self.told
        if report is None or told is None:
            return report or told
        reason = "; ".join(part for part in (told.reason, report.reason) if part)
        return SourceReport(report.path, report.format, report.state if report.state == "failed" else told.state, reason)

    def readings(self) -> list[Fact]:
        """All facts in the order of their lines."""
        found = [*(fact for _, facts in sorted(self.said.items()) for fact in facts), *self.facts]
        found.sort(key=lambda item: item.origin.line or 0)
        begun = self.last_run()
        if begun:  # with what it was started is what the last run says
            said = {fact.name for fact in found if (fact.origin.line or 0) >= begun and fact.name.startswith("launch.")}
            found = [fact for fact in found if fact.name not in said or (fact.origin.line or 0) >= begun]
        return found

    def counts(self) -> dict[int, int]:
        """Hits by pattern, with those of the unfinished end."""
        found = {number: hits.count for number, hits in self.hits.items()}
        for part in self.provisional.values():
            for number, hits in part.hits.items():
                found[number] = found.get(number, 0) + hits.count
        return found

    def last_line(self) -> int:
        """The highest line number of anything that is kept; 0 for none."""
        lines = [hits.last.number or 0 for hits in self.hits.values() if hits.last is not None]
        parts = (part.last_line() for part in self.provisional.values())
        return max(0, *lines, *(fact.origin.line or 0 for fact in self.facts), self.series.last_line(), *parts)

    def shift(self, by: int) -> None:
        """Takes `by` off all line numbers: the text under this path begins anew, and what it said before comes first."""
        self.hits = {number: hits.shifted(by) for number, hits in self.hits.items()}
        self.facts = [_shifted_fact(fact, by) for fact in self.facts]
        self.series.shift(by)
        self.banners = {banner: [line - by for line in lines] for banner, lines in self.banners.items()}
        for part in self.provisional.values():
            part.shift(by)

    def retire(self, until: int) -> None:
        """Forgets what the lines up to `until` said."""
        kept = ((number, hits.after(until)) for number, hits in self.hits.items())
        self.hits = {number: hits for number, hits in kept if hits is not None}
        old = [fact for fact in self.facts if fact.origin.line is None or fact.origin.line <= until]
        outlives = {fact.value: fact for fact in old if fact.name == OUTLIVES}
        kept_of_old = {id(fact) for fact in list(outlives.values())[-MAX_OUTLIVING:]}
        gone = {id(fact) for fact in old} - kept_of_old
        self.facts = [fact for fact in self.facts if id(fact) not in gone]
        self.series.retire(until)
        self.banners = {banner: [line for line in lines if line > until] for banner, lines in self.banners.items()}
        self.issues.clear()
        for part in self.provisional.values():
            part.retire(until)

    def keep_newest(self) -> None:
        """Of a text whose lines are records of the same kind: the newest fact of each name and entity, each issue once."""
        self.facts = list({(fact.name, fact.entity): fact for fact in self.facts}.values())
        self.issues = list(dict.fromkeys(self.issues))[:MAX_HITS]

    def is_empty(self) -> bool:
        return not (
            self.hits
            or self.facts
            or self.said
            or self.issues
            or self.series.names()
            or self.report
            or self.told
            or self.provisional
        )


def _shifted_fact(fact: Fact, by: int) -> Fact:
    line = fact.origin.line
    return fact if line is None else replace(fact, origin=replace(fact.origin, line=line - by))


@dataclass
class State:
    """`bounds`: what is kept of the series of each file (None: as much as a log of any size needs once). `memos`: what derivations
    and detectors found the last time (None: it is judged once)."""

    bounds: Bounds | None = None
    files: dict[str, FileState] = field(default_factory=dict)
    memos: dict[tuple[int, Step], Memo] | None = None

    def file(self, path: str) -> FileState:
        state = self.files.get(path)
        if state is None:
            state = self.files[path] = FileState(series=SeriesView(bounds=self.bounds))
        return state

    def parts(self) -> Iterator[FileState]:
        """What the files say, by path, each with what its unfinished end says behind it."""
        for _, file in self.in_order():
            yield file
            for _, part in sorted(file.provisional.items()):
                yield part

    def in_order(self) -> list[tuple[str, FileState]]:
        """Files by path: the canonical order of everything that is judged."""
        return sorted(self.files.items())
