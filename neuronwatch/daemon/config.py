"""What may stand in the configuration, with its defaults and meanings. The loader, the JSON schema and `config print` are made
from these classes: a setting is one line here."""

from __future__ import annotations

from typing import Any

from neuronwatch.model.dataclass import dataclass, field


def setting(default: Any, help: str, **limits: Any) -> Any:
    """A field with its meaning. `limits`: `least` and `most` for numbers, `choices` and `form` (a regular expression) for
    texts, `names` (the keys that a table of tables may have)."""
    meta = {"help": help, **limits}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    enabled: bool = setting(True, "Whether this source is read.")
    interval: float | None = setting(None, "Seconds between polls; left out: the source's own.", least=0.1, most=86400.0)
    budget: float | None = setting(None, "Seconds without news after which it is stale; left out: the source's own.",
                                   least=0.5, most=604800.0)  # fmt: skip
    mandatory: bool | None = setting(None, "Whether the host is called healthy only while it is fresh; left out: the source's own.")


@dataclass(frozen=True, slots=True)
class Logs:
    globs: tuple[str, ...] = setting((), "Further logs to follow: absolute glob patterns of runtime, training and serving logs.",
                                     form=r"/.*")  # fmt: skip
    shipped: bool = setting(True, "Whether the usual places are followed too (docs/daemon.md lists them).")


@dataclass(frozen=True, slots=True)
class History:
    enabled: bool = setting(True, "Whether readings are kept on disk.")
    days: float = setting(30.0, "Days that readings are kept.", least=0.01, most=3650.0)
    megabytes: int = setting(2048, "Space that the history takes at most; the oldest goes first.", least=16, most=1_000_000)
    minutes_in_memory: float = setting(15.0, "Minutes of readings in memory, for the dashboard.", least=1.0, most=240.0)


@dataclass(frozen=True, slots=True)
class Incidents:
    days: float = setting(90.0, "Days that resolved incidents and the journal are kept.", least=0.01, most=3650.0)


@dataclass(frozen=True, slots=True)
class Rules:
    disabled: tuple[str, ...] = setting((), "Ids of rules that are not used on this host.")


@dataclass(frozen=True, slots=True)
class Prometheus:
    listen: str = setting("", "HOST:PORT on which /metrics is served; empty: no port is opened. A host that is not loopback "
                              "needs allow_remote.", form=r"|(\[[0-9a-fA-F:.]+\]|[0-9A-Za-z.-]+):\d{1,5}")  # fmt: skip
    allow_remote: bool = setting(False, "Whether an address that is not loopback may be listened on.")


@dataclass(frozen=True, slots=True)
class Textfile:
    path: str = setting("", "File (*.prom) for node_exporter's textfile collector; empty: none.", form=r"|/.*\.prom")
    interval: float = setting(15.0, "Seconds between two writings.", least=1.0, most=3600.0)


@dataclass(frozen=True, slots=True)
class JsonLines:
    path: str = setting("", "File that gets one JSON object per change of an incident or source; empty: none.", form=r"|/.*")
    megabytes: int = setting(64, "Size at which the file is moved to PATH.1 and begun anew.", least=1, most=100_000)


@dataclass(frozen=True, slots=True)
class NodeProblem:
    path: str = setting("", "File with the host's conditions as node-problem-detector has them; empty: none.", form=r"|/.*")


@dataclass(frozen=True, slots=True)
class OpenTelemetry:
    endpoint: str = setting("", "OTLP/HTTP endpoint, for example http://127.0.0.1:4318; needs the extra `otel`; empty: none.",
                            form=r"|https?://.+")  # fmt: skip
    interval: float = setting(60.0, "Seconds between two exports.", least=5.0, most=3600.0)


@dataclass(frozen=True, slots=True)
class Exporters:
    prometheus: Prometheus = setting(Prometheus, "Prometheus over HTTP.")
    textfile: Textfile = setting(Textfile, "Prometheus by a file.")
    jsonl: JsonLines = setting(JsonLines, "JSON lines.")
    npd: NodeProblem = setting(NodeProblem, "node-problem-detector.")
    otel: OpenTelemetry = setting(OpenTelemetry, "OpenTelemetry.")


@dataclass(frozen=True, slots=True)
class Alert:
    """Exactly one of `url` and `command`."""

    name: str = setting("", "Name for the log; left out: its number.")
    url: str = setting("", "Webhook: the incident is posted there as JSON.", form=r"|https?://.+")
    command: tuple[str, ...] = setting((), "Program and arguments, run without a shell; the incident is JSON on its input.")
    headers: dict[str, str] = setting(dict, "Headers of the webhook, such as Authorization.")
    severity: str = setting("warning", "The least severity that is told.", choices=("info", "warning", "error", "critical"))
    states: tuple[str, ...] = setting(("open", "resolved"), "Changes that are told.", choices=("open", "acknowledged", "resolved"))
    faults: tuple[str, ...] = setting((), "Taxonomy ids that are told (`hw.*` is allowed); empty: all.")
    timeout: float = setting(10.0, "Seconds for one attempt.", least=0.1, most=300.0)
    retries: int = setting(5, "Further attempts after the first one, with growing pauses.", least=0, most=50)


@dataclass(frozen=True, slots=True)
class Config:
    sources: dict[str, SourceSettings] = setting(dict, "One table per source, by its name.", names="sources")
    logs: Logs = setting(Logs, "Which logs are followed.")
    history: History = setting(History, "Readings over time.")
    incidents: Incidents = setting(Incidents, "Incidents and the journal.")
    rules: Rules = setting(Rules, "The rule table.")
    exporters: Exporters = setting(Exporters, "Who else is told.")
    alerts: tuple[Alert, ...] = setting((), "Webhooks and programs that are told about incidents; a list of tables.")
