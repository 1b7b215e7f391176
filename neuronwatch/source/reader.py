"""The one pass over the evidence: every file is recognised, scanned, and handed to the judge in pieces."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Union

from neuronwatch.judge.evidence import Counted, DocumentHit, Match, Window
from neuronwatch.judge.match import Pattern
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.parse.api import MAX_DOCUMENT, Document, FileFormat, LineFormat
from neuronwatch.source.limits import DEFAULT, Limits
from neuronwatch.source.plan import Plan
from neuronwatch.source.textscan import TextScan
from neuronwatch.source.tree import SourceFile, walk

Item = Union[Match, Window, DocumentHit, Counted, SourceReport]
Progress = Callable[[str, int, int], None]

SNIFFED = 64 * 1024
SURE = 0.5
OWNED = 0.75
"""From SURE on a file format reads the file; below OWNED the line formats look at it too."""


def read_evidence(
    paths: Sequence[Path], patterns: Sequence[Pattern], line_formats: Sequence[LineFormat],
    file_formats: Sequence[FileFormat], *, limits: Limits = DEFAULT, progress: Progress | None = None, workers: int = 1,
    cache_dir: Path | None = None,
) -> Iterator[Item]:  # fmt: skip
    """Reads files and directories. File by file in sorted order, each ending with its SourceReport."""
    plan = Plan(patterns, line_formats, file_formats, cache_dir, 0)
    for entry in walk(paths):
        if isinstance(entry, SourceReport):
            yield entry
        else:
            yield from _read_file(entry, plan, limits)


def read_virtual(
    path: str, data: bytes, patterns: Sequence[Pattern], line_formats: Sequence[LineFormat],
    file_formats: Sequence[FileFormat], *, limits: Limits = DEFAULT, cache_dir: Path | None = None,
) -> Iterator[Item]:  # fmt: skip
    """The same for a text in memory, shown under `path`."""
    plan = _virtual_plan(tuple(patterns), tuple(line_formats), tuple(file_formats), cache_dir)
    yield from _scan_data(path, data, len(data), plan, limits)


_plans: list[tuple[tuple[object, ...], Plan]] = []


def _virtual_plan(
    patterns: tuple[Pattern, ...], line_formats: tuple[LineFormat, ...], file_formats: tuple[FileFormat, ...],
    cache_dir: Path | None,
) -> Plan:  # fmt: skip
    key = (patterns, line_formats, file_formats)
    for known, plan in _plans:
        if known == key:
            return plan
    plan = Plan(patterns, line_formats, file_formats, cache_dir, 0)
    _plans[:] = [(key, plan)]
    return plan


def _read_file(file: SourceFile, plan: Plan, limits: Limits) -> Iterator[Item]:
    try:
        descriptor = os.open(file.place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        yield SourceReport(file.path, "unknown", "failed", (error.strerror or str(error)).lower())
        return
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            yield SourceReport(file.path, "unknown", "skipped", "not a regular file")
            return
        with os.fdopen(os.dup(descriptor), "rb") as handle:
            data = handle.read()
    except OSError as error:
        yield SourceReport(file.path, "unknown", "failed", (error.strerror or str(error)).lower())
        return
    finally:
        os.close(descriptor)
    yield from _scan_data(file.path, data, len(data), plan, limits)


def _scan_data(path: str, data: bytes, size: int, plan: Plan, limits: Limits) -> Iterator[Item]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode()
    elif data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    best, score = None, 0.0
    head = Document(path, data[:SNIFFED], size)
    for fmt in plan.file_formats:
        sure = fmt.sniff(head)
        if sure > score:
            best, score = fmt, sure
    if best is not None and score >= SURE:
        yield DocumentHit(best, Document(path, data[:MAX_DOCUMENT], size))
    else:
        best = None
    if b"\0" in data[:SNIFFED]:
        name = best.name if best else "binary"
        yield SourceReport(path, name, "read" if best else "skipped", "" if best else "binary")
        return
    scan = TextScan(path, plan, limits, exact=True, kind=best.kind if best else None,
                    formats=best is None or score < OWNED)  # fmt: skip
    yield from scan.feed(data, 0, 0, len(data))
    yield from scan.finish()
    yield SourceReport(path, best.name if best else scan.format, "read")
