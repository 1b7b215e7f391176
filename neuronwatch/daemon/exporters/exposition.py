"""A view as Prometheus text (format 0.0.4): base units, `_total` for counters, HELP and TYPE, labels escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from neuronwatch import __version__
from neuronwatch.daemon.exporters.api import Value, View
from neuronwatch.model.diagnosis import SEVERITIES, Verdict
from neuronwatch.model.live import SourceState
from neuronwatch.model.metrics import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Sequence[tuple[str, str]]

_SUFFIX = {
    "percent": "_ratio", "bytes": "_bytes", "seconds": "_seconds", "count": "", "per_second": "_per_second",
    "bytes_per_second": "_bytes_per_second", "watts": "_watts",
}  # fmt: skip
_ENTITY = re.compile(r"nd(\d+)(?::nc(\d+))?|pid(\d+)|rank(\d+)")


def name_of(metric: Metric) -> str:
    """`core.memory.used` in bytes is `neuronwatch_core_memory_used_bytes`; percents are ratios from 0 to 1."""
    base = "neuronwatch_" + re.sub(r"[^a-zA-Z0-9_]", "_", metric.name)
    suffix = _SUFFIX[metric.unit]
    base = base if suffix and base.endswith(suffix) else base + suffix
    return base + "_total" if metric.kind == "counter" and not base.endswith("_total") else base


def labels_of(metric: Metric, entity: str) -> Labels:
    """`nd0:nc1` is device 0, core 1; a job or source is named as such. The host has no label."""
    if not entity:
        return ()
    if metric.on in ("job", "source"):
        return (("job_name" if metric.on == "job" else "source", entity.removeprefix("job:")),)
    found = _ENTITY.fullmatch(entity)
    if found is None:
        return (("entity", entity),)
    names = ("neuron_device", "neuroncore", "pid", "rank")
    return tuple((name, number) for name, number in zip(names, found.groups(), strict=True) if number is not None)


def render(view: View) -> bytes:
    return "".join(_lines(view)).encode("utf-8", "backslashreplace")


def _lines(view: View) -> Iterator[str]:
    for metric, values in view.values:
        yield from _readings(metric, values)
    yield from _family("neuronwatch_build_info", "gauge", "Version of neuronwatch.", [((("version", __version__),), 1.0)])
    verdicts = [((("verdict", item),), float(item == view.verdict)) for item in get_args(Verdict)]
    yield from _family("neuronwatch_verdict", "gauge", "1 for the verdict that the host has now.", verdicts)
    states = [((("source", item.source), ("state", state)), float(item.state == state))
              for item in view.healths for state in get_args(SourceState)]  # fmt: skip
    yield from _family("neuronwatch_source_state", "gauge", "1 for the state that the source is in.", states)
    up = [((("source", item.source),), float(item.state == "fresh")) for item in view.healths]
    yield from _family("neuronwatch_source_up", "gauge", "1 while the source is fresh.", up)
    last = [((("source", item.source),), item.last) for item in view.healths if item.last is not None]
    yield from _family("neuronwatch_source_last_delivery_timestamp_seconds", "gauge", "When the source delivered last.", last)
    told = [((("fault", item.finding.fault), ("role", item.finding.role), ("rule", item.finding.rule),
              ("severity", item.finding.severity), ("state", item.state)), 1.0)
            for item in view.conditions if item.state != "false"]  # fmt: skip
    yield from _family("neuronwatch_condition", "gauge", "Findings that last, true or unknown.", told)
    counts = [((("severity", name),), float(sum(item.severity == name and item.state != "resolved" for item in view.incidents)))
              for name in SEVERITIES]  # fmt: skip
    yield from _family("neuronwatch_incidents_open", "gauge", "Incidents that are not resolved.", counts)
    for name, value in view.own.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        yield from _family(name, kind, _OWN.get(name, "Of the daemon itself."), [((), value)])


_OWN = {
    "process_cpu_seconds_total": "Processor time of the daemon.",
    "process_resident_memory_bytes": "Memory of the daemon.",
    "process_start_time_seconds": "When the daemon was started.",
    "process_open_fds": "Open descriptors of the daemon.",
    "neuronwatch_api_clients": "Clients of the daemon's socket.",
}


def _readings(metric: Metric, values: Sequence[Value]) -> Iterator[str]:
    scale = 0.01 if metric.unit == "percent" else 1.0
    samples = [(labels_of(metric, item.entity), item.value * scale) for item in values]
    return _family(name_of(metric), metric.kind, metric.help, samples)


def _family(name: str, kind: str, help: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    head = f"# HELP {name} {_help(help)}\n# TYPE {name} {kind}\n"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_label(text)}"' for key, text in labels)
        yield f"{head}{name}{{{inside}}} {_number(value)}\n" if inside else f"{head}{name} {_number(value)}\n"
        head = ""


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
