"""The state of the fold: what has been observed, file by file. It depends neither on chunking nor on the order of files."""

from __future__ import annotations

from neuronwatch.judge.series import SeriesView
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Event, Fact
from neuronwatch.parse.api import Line

MAX_HITS = 64
MAX_EVENTS = 5000
"""Events and hits kept for each file and kind; further ones are only counted."""
MAX_FACTS = 20_000
"""Facts kept of each file: no real file says more, and half a million environment variables would be 300 MiB."""


@dataclass
class Hits:
    """Lines in which one signature was found, in file order: the first MAX_HITS and the last."""

    lines: list[Line] = field(default_factory=list)
    last: Line | None = None
    count: int = 0

    def add(self, line: Line) -> None:
        self.count += 1
        self.last = line
        if len(self.lines) < MAX_HITS:
            self.lines.append(line)


@dataclass
class FileState:
    """What one file contributed."""

    hits: dict[int, Hits] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    series: SeriesView = field(default_factory=SeriesView)
    events: list[Event] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    report: SourceReport | None = None
    told: SourceReport | None = None
    """What the manifest of a bundle says of it."""

    def source(self) -> SourceReport | None:
        """What became of it, on the original and here."""
        report, told = self.report, self.told
        if report is None or told is None:
            return report or told
        reason = "; ".join(part for part in (told.reason, report.reason) if part)
        return SourceReport(report.path, report.format, report.state if report.state == "failed" else told.state, reason)


@dataclass
class State:
    files: dict[str, FileState] = field(default_factory=dict)

    def file(self, path: str) -> FileState:
        state = self.files.get(path)
        if state is None:
            state = self.files[path] = FileState()
        return state

    def in_order(self) -> list[tuple[str, FileState]]:
        """Files by path: the canonical order of everything that is judged."""
        return sorted(self.files.items())
