"""What an exporter is, and what it may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from neuronwatch.model.diagnosis import Verdict
from neuronwatch.model.live import Condition, Health, Incident
from neuronwatch.model.metrics import Metric


class Value(NamedTuple):
    """The newest reading of an entity. `time`: seconds since the epoch."""

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
    """Made by `make(service)` of its module: None where the configuration does not ask for it."""

    name: str

    def incident(self, what: str, text: str, incident: Incident) -> None:
        """What happened to an incident: opened, updated, acknowledged, reopened or resolved. Never waits."""
        ...

    def source(self, health: Health) -> None:
        """A source changed its state. Never waits."""
        ...

    def keep(self) -> None:
        """The state directory is another one: what the exporter keeps there is written again."""
        ...

    def close(self) -> None: ...


class CannotExport(Exception):
    """An exporter that the configuration asks for cannot be started; the text says why, and the mend."""


class Silent:
    """An exporter that says nothing of changes."""

    def incident(self, what: str, text: str, incident: Incident) -> None:
        pass

    def source(self, health: Health) -> None:
        pass

    def keep(self) -> None:
        pass

    def close(self) -> None:
        pass
