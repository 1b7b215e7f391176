"""What the one scan of the evidence hands to the judge, file by file in sorted order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat


class Match(NamedTuple):
    """A line in which the pattern `pattern_id` of the compiled rule set was found."""

    pattern_id: int
    line: Line
    kind: str = "log"


class Counted(NamedTuple):
    """Further hits of a pattern in a file that were only counted."""

    path: str
    pattern_id: int
    hits: int


class Window(NamedTuple):
    """Lines around triggers of a line format."""

    format: LineFormat
    lines: Sequence[Line]


class DocumentHit(NamedTuple):
    """A whole file that a file format recognised."""

    format: FileFormat
    document: Document


class Provisional(NamedTuple):
    """What a text that still grows says so far, with lines that may go on: an open window, an unfinished last line. It takes
    the place of what was provisional under this path and this name before; no items: nothing is any more."""

    path: str
    name: str
    items: Sequence[Union[Match, Window]]


Evidence = Union[Match, Counted, Window, DocumentHit, Provisional, SourceReport, Fact]


def path_of(item: Evidence) -> str:
    """The path that an item of evidence belongs to."""
    if isinstance(item, Match):
        return item.line.path
    if isinstance(item, Window):
        return item.lines[0].path if item.lines else ""
    if isinstance(item, DocumentHit):
        return item.document.path
    return item.origin.path if isinstance(item, Fact) else item.path
