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
from neuronwatch.parse.api import FileFormat, LineFormat
from neuronwatch.source import pipe
from neuronwatch.source.contents import Contents, Reading
from neuronwatch.source.limits import DEFAULT, Limits
from neuronwatch.source.numbering import NUMBERING
from neuronwatch.source.plan import Plan
from neuronwatch.source.streams import File, Memory
from neuronwatch.source.tree import VANISHED, Entry, Listing, SourceFile, walk
from neuronwatch.source.watch import watching

Item = Union[Match, Window, DocumentHit, Counted, SourceReport]
Progress = Callable[[str, int, int], None]
"""Called with the path, and the bytes read and to be read of it."""


def read_evidence(
    paths: Sequence[Path], patterns: Sequence[Pattern], line_formats: Sequence[LineFormat],
    file_formats: Sequence[FileFormat], *, limits: Limits = DEFAULT, progress: Progress | None = None, workers: int = 1,
    cache_dir: Path | None = None,
) -> Iterator[Item]:  # fmt: skip
    """Reads files, directories and archives: file by file in sorted order, each ending with its SourceReport.

    Lines of files above `limits.number_at_once` carry offsets for numbers, see `numbering.NUMBERING`. Never raises on
    content: what cannot be read is a SourceReport with the reason.
    """
    plan = Plan(patterns, line_formats, file_formats, cache_dir)
    contents = Contents(plan, limits, progress, workers)
    quiet = _Quiet(limits.quiet_reports)
    with watching(plan.matcher.confirm):
        for entry in walk(paths):
            yield from quiet.filtered(_read_entry(entry, contents))
        yield from quiet.rest()
        yield from _dropped(plan)


def read_virtual(
    path: str, data: bytes, patterns: Sequence[Pattern], line_formats: Sequence[LineFormat],
    file_formats: Sequence[FileFormat], *, limits: Limits = DEFAULT, cache_dir: Path | None = None,
) -> Iterator[Item]:  # fmt: skip
    """The same for a text in memory, shown under `path`."""
    plan = _virtual_plan(tuple(patterns), tuple(line_formats), tuple(file_formats), cache_dir)
    with watching(plan.matcher.confirm):
        yield from Contents(plan, limits, None).read(Reading(path, len(data), Memory(data), None))


_plans: list[tuple[tuple[object, ...], Plan]] = []


def _virtual_plan(
    patterns: tuple[Pattern, ...], line_formats: tuple[LineFormat, ...], file_formats: tuple[FileFormat, ...],
    cache_dir: Path | None,
) -> Plan:  # fmt: skip
    """The plan of the last call when nothing changed: a host has hundreds of small texts."""
    key = (patterns, line_formats, file_formats)
    for known, plan in _plans:
        if known == key:
            return plan
    plan = Plan(patterns, line_formats, file_formats, cache_dir)
    _plans[:] = [(key, plan)]
    return plan


def _read_entry(entry: Entry, contents: Contents) -> Iterator[Item]:
    if isinstance(entry, SourceReport):
        yield entry
    elif isinstance(entry, Listing):
        yield from contents.read(Reading(entry.path, len(entry.data), Memory(entry.data), None))
    else:
        yield from _read_file(entry, contents)


def _read_file(file: SourceFile, contents: Contents) -> Iterator[Item]:
    place = file.place
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if place == pipe.NAME and file.given:
            place = pipe.PLACE
            descriptor, is_pipe = pipe.standard_input()
        else:
            descriptor = os.open(place, flags if not file.given else flags & ~getattr(os, "O_NOFOLLOW", 0))
            is_pipe = False
    except FileNotFoundError:
        yield SourceReport(file.path, "unknown", "failed", VANISHED)
        return
    except (OSError, ValueError) as error:
        yield SourceReport(file.path, "unknown", "failed", _reason(error))
        return
    try:
        status = os.fstat(descriptor)
        if is_pipe:
            yield from contents.read(Reading(file.path, 0, pipe.Pipe(descriptor), None))
            return
        if not stat.S_ISREG(status.st_mode):
            yield SourceReport(file.path, "unknown", "skipped", "not a regular file")
            return
        sparse = getattr(status, "st_blocks", 0) * 512 < status.st_size and hasattr(os, "SEEK_DATA")
        stream = File(descriptor, status.st_size, sparse)
        items = contents.read(Reading(file.path, status.st_size, stream, descriptor))
        for item in items:
            yield item
            if not isinstance(item, SourceReport):  # of a million files in which nothing is found none is remembered
                NUMBERING.remember(file.path, place)
                yield from items
    except OSError as error:
        yield SourceReport(file.path, "unknown", "failed", _reason(error))
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()


class _Quiet:
    """Leaves out the reports of files in which there was nothing, after the first ones: of a million they would fill the
    memory, and nobody reads them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._shown = 0
        self._left_out: dict[tuple[str, str], int] = {}

    def filtered(self, items: Iterator[Item]) -> Iterator[Item]:
        something = False
        for item in items:
            if not isinstance(item, SourceReport):
                something = True
                yield item
                continue
            self._shown += 1
            if self._shown <= self._limit or (something and item.state != "skipped"):
                yield item
            else:
                key = (item.state, item.reason)
                self._left_out[key if key in self._left_out or len(self._left_out) < 100 else (item.state, "")] = (
                    self._left_out.get(key, 0) + 1
                )
            something = False

    def rest(self) -> Iterator[SourceReport]:
        for (state, reason), count in sorted(self._left_out.items()):
            yield SourceReport(
                f"({count:,} further file{'s' * (count > 1)})", "unknown", state, reason or "nothing was found in them"
            )


def _dropped(plan: Plan) -> Iterator[SourceReport]:
    for regex, text in plan.matcher.confirm.dropped.items():
        yield SourceReport(
            "(rules)", "rule", "partial", f"a pattern took too long and was dropped: {regex[:100]!r} on {text[:100]!r}"
        )
