"""The words of watching: how a source is, one number of a moment, what a source delivers, conditions and incidents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Finding, Severity, SourceReport
from neuronwatch.model.records import Fact


class Now(NamedTuple):
    """`wall`: seconds since the epoch, for people and records; `mono`: seconds that only grow, for intervals. On a drill host
    at accelerated time both run faster."""

    wall: float
    mono: float


SourceState = Literal["starting", "fresh", "stale", "missing", "failed"]


@dataclass(frozen=True, slots=True)
class Health:
    """How a source is. `budget`: seconds after which its last delivery is stale. `since`: when the state began, `last`: when
    it delivered last, None: never (seconds since the epoch). `mandatory`: without it the host is not called healthy."""

    source: str
    state: SourceState
    since: float
    budget: float
    last: float | None = None
    reason: str = ""
    mandatory: bool = False


class Reading(NamedTuple):
    """One number of a moment for the ring and the history. `metric` is in model/metrics.py; `entity` is `nd0`, `nd0:nc1`,
    `pid77`, `job:NAME`, or "" for the host. `value` None: absent, `reason` says why; absent is never 0. A tuple, because
    some 1,500 are made and sorted each second."""

    metric: str
    entity: str
    value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """A text or document as it is now, under the path that evidence shows; it takes the place of the one before. `data` None:
    it is gone."""

    path: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Appended:
    """Whole lines that a followed text gained. `fresh`: the text begins anew under this path (a new file, a rotation, a
    truncation), so that line numbers start at `line` again (not at 1 where reading goes on after a restart). `dropped`: lines
    left out in front of `data` by flood control. Without a line end, `data` is the start of a line that waits for its end.
    `records`: each line is a whole record; facts of a newer one take the place of those of an older one."""

    path: str
    data: bytes
    fresh: bool = False
    dropped: int = 0
    line: int = 1
    records: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a source read at one time (seconds since the epoch)."""

    source: str
    time: float
    readings: Sequence[Reading] = ()
    wholes: Sequence[Whole] = ()
    appended: Sequence[Appended] = ()
    facts: Sequence[Fact] | None = None
    """All facts without a text of their own that this source tells now; they take the place of its earlier ones. None: they are
    as they were."""
    reports: Sequence[SourceReport] | None = None
    """In the same way."""
    alive: Mapping[int, float] | None = None
    """All processes that live: pid, also inside of containers, to a time (seconds since the epoch) at which it had not begun
    yet. None: this source does not tell."""


ConditionState = Literal["true", "false", "unknown"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A finding that lasts. `key` is stable over restarts: rule and entities. `reason` says why it is unknown or how it
    ended; `ends` how it will end, for people."""

    key: str
    state: ConditionState
    since: float
    finding: Finding
    reason: str = ""
    ends: str = ""


IncidentState = Literal["open", "acknowledged", "resolved"]


@dataclass(frozen=True, slots=True)
class Revision:
    """One change in the life of an incident, for its time line."""

    time: float
    what: str


@dataclass(frozen=True, slots=True)
class Incident:
    """Conditions grouped: `root` is the key of the condition that explains the `cascades`. `fault` and `severity` are the
    root's. Times are seconds since the epoch; `resolved` None while it lasts."""

    id: str
    fault: str
    severity: Severity
    state: IncidentState
    opened: float
    root: str
    conditions: tuple[Condition, ...]
    updated: float
    resolved: float | None = None
    revisions: tuple[Revision, ...] = field(default=())
