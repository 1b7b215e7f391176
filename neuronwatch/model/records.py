"""What parsers produce and the judge consumes: Event, Fact, Sample, Issue, each with its Origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Union

from neuronwatch.model.dataclass import dataclass, field

# A fact's value. Lists and maps are tuples/dicts of scalars; None never stands for zero.
Value = Union[str, int, float, bool, tuple["Value", ...], Mapping[str, "Value"], None]

MAX_TEXT = 2000
"""Evidence text is cut to this many characters around the match."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record was read. `path` is relative to the evidence root, `line` is 1-based or None, `text` the line,
    `mark` the characters of `text` that matched."""

    path: str
    line: int | None = None
    text: str = ""
    mark: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One parsed occurrence, for example a log line or a process exit.

    `kind` is dotted and stable (`nrt.log`, `kernel.oom_kill`, `python.exception`); `time` is seconds since the epoch
    (UTC assumed when the line has no zone) or None for undated lines; `entity` is `nd0:nc1`, `rank3`, `pid77` or "".
    """

    kind: str
    origin: Origin
    fields: Mapping[str, Value] = field(default_factory=dict)
    entity: str = ""
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A slow truth with provenance: `name` is in model/vocabulary.py, sizes are bytes, times are seconds. `past`: a log says
    that it was so; it counts where nothing says what is so now."""

    name: str
    value: Value
    origin: Origin
    entity: str = ""
    past: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a series. `index` is the step or epoch when the line names it; `value` None needs a `reason`."""

    name: str
    value: float | None
    origin: Origin
    unit: str = ""
    entity: str = ""
    time: float | None = None
    index: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """Something a parser or reader could not read; shown in `sources`, never raised."""

    origin: Origin
    message: str


Record = Union[Event, Fact, Sample, Issue]
