"""Small plans and formats to read evidence with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from neuronwatch.judge.evidence import Counted, DocumentHit, Match, Window
from neuronwatch.judge.match import Pattern, pattern_of
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Record
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat
from neuronwatch.source.limits import DEFAULT, Limits
from neuronwatch.source.reader import Item, read_evidence, read_virtual

NOT_AVAILABLE, TIMED_OUT, KILLED = range(3)
PATTERNS: tuple[Pattern, ...] = (
    pattern_of(NOT_AVAILABLE, r"NeuronCore\(s\) not available"),
    pattern_of(TIMED_OUT, r"Error: .{0,80}timed out"),
    pattern_of(KILLED, r"(?i)killed process"),
)
FAULT = "NeuronCore(s) not available - Requested:1"


def nothing(lines: Sequence[Line]) -> Iterable[Record]:
    return ()


def no_records(document: Document) -> Iterable[Record]:
    return ()


TRACEBACK = LineFormat("traceback", "log", (r"Traceback \(most recent",), nothing, before=1, after=3)
KERNEL = LineFormat("kernel", "kernel", (r"neuron: nd\d",), nothing)
LOSS = LineFormat("losses", "log", (r"'loss': ",), nothing, series=True)
CONFIG = FileFormat("config", "config", lambda document: 0.9 if b'"model_type"' in document.data else 0.0, no_records)
WEIGHTS = FileFormat("weights", "config", lambda document: 0.9 if document.data[8:9] == b"{" else 0.0, no_records)


def read(*paths: Path, limits: Limits = DEFAULT, workers: int = 1, cache_dir: Path | None = None) -> list[Item]:
    return list(read_evidence(
        paths, PATTERNS, (TRACEBACK, KERNEL, LOSS), (CONFIG, WEIGHTS), limits=limits, workers=workers, cache_dir=cache_dir,
    ))  # fmt: skip


def virtual(data: bytes, limits: Limits = DEFAULT, path: str = "log") -> list[Item]:
    return list(read_virtual(path, data, PATTERNS, (TRACEBACK, KERNEL, LOSS), (CONFIG, WEIGHTS), limits=limits))


def matches(items: list[Item]) -> list[tuple[int, str, int | None]]:
    return [(item.pattern_id, item.line.path, item.line.number) for item in items if isinstance(item, Match)]


def reports(items: list[Item]) -> dict[str, tuple[str, str, str]]:
    return {item.path: (item.format, item.state, item.reason) for item in items if isinstance(item, SourceReport)}


def windows(items: list[Item], name: str) -> list[list[str]]:
    return [[line.text for line in item.lines] for item in items if isinstance(item, Window) and item.format.name == name]


def counted(items: list[Item]) -> dict[int, int]:
    return {item.pattern_id: item.hits for item in items if isinstance(item, Counted)}


def documents(items: list[Item]) -> list[Document]:
    return [item.document for item in items if isinstance(item, DocumentHit)]
