"""What an exporter is, and what it may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from neuronwatch.model.diagnosis import Verdict
from neuronwatch.model.live import Condition, Health, Incident
from neuronwatch.model.metrics import Metric


class Value(NamedTuple):
    """The newest reading of an entity that is fresh enough to be told. `time`: seconds since the epoch."""

    entity: str
    value: float
    time: float


class View(NamedTuple):
    """How everything is at one moment. `values` holds no reading that is absent or older than its source's budget: what is
    not known is not exported. `own`: numbers of the daemon itself, by Prometheus name."""

    time: float
    verdict: Verdict
    healths: Sequence[Health]
    conditions: Sequence[Condition]
    incidents: Sequence[Incident]
    values: Sequence[tuple[Metric, Sequence[Value]]]
    own: Mapping[str, float]


class Exporter(Protocol):
    name: str

    def changed(self, what: str, incident: Incident) -> None:
        """An incident was opened, updated, acknowledged, reopened or resolved. Never waits."""
        ...

    def close(self) -> None: ...
