"""Prometheus text pages: vLLM's and TGI's queue gauges as series, the state of scrape targets, and what the exporter of
neuron-monitor shows, as the facts and samples that its JSON gives (a page has the sums since the exporter's start)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Event, Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, to_float
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.neuron_monitor import ECC, ERRORS, FAILURES
from neuronwatch.parse.units import whole

_SAMPLE = lazy(r"^\s{0,4}([a-z_][\w:]{1,120})(?:\{([^{}]{0,2000})\})?\s{1,8}(\S{1,40})(?:\s{1,4}[0-9]{9,16})?\s{0,8}$")
_SERIES = {
    "vllm:num_requests_running": ("running", "requests"),
    "vllm:num_requests_waiting": ("waiting", "requests"),
    "vllm:num_requests_swapped": ("preempted", "requests"),
    "vllm:gpu_cache_usage_perc": ("kv_usage", "%"),
    "vllm:kv_cache_usage_perc": ("kv_usage", "%"),
    "tgi_queue_size": ("waiting", "requests"),
    "tgi_batch_current_size": ("running", "requests"),
    "vllm:avg_generation_throughput_toks_per_s": ("tokens_per_s", "tokens/s"),
}
_MODEL = lazy(r"model_name=\"([^\"]{1,300})\"")
_JOB = lazy(r"job=\"([^\"]{1,100})\"")


_LABEL = lazy(r"([a-z_]{1,60})=\"([^\"]{0,200})\"")
_HARDWARE = {
    "neuron.devices": "neuron_device_count",
    "neuron.cores_per_device": "neuroncore_per_device_count",
    "neuron.device_memory": "neuron_device_memory_size",
}
_MONITOR = (
    "neuroncore_utilization_ratio", "neuron_runtime_memory_used_bytes", "execution_errors_total", "execution_status_total",
    "hardware_ecc_events_total", "system_memory_total_bytes", "system_memory_used_bytes", "neuron_hardware_info",
    "instance_info",
)  # fmt: skip


class _Reading(NamedTuple):
    """One line of neuron-monitor's exporter."""

    line: Line
    name: str
    labels: dict[str, str]
    value: float


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    readings: list[_Reading] = []
    for line in lines:
        found = _SAMPLE.match(line.body)
        value = to_float(found.group(3)) if found else None
        if found is None or value is None:
            continue
        name, labels = found.group(1), found.group(2) or ""
        series = _SERIES.get(name)
        if series:
            number = value * 100.0 if name.endswith("_perc") else value
            yield Sample(series[0], number, line.origin, series[1], line.entity, line.time)
            model = _MODEL.search(labels)
            if model:
                yield fact(line, "launch.model", model.group(1))
        elif name == "up":
            job = _JOB.search(labels)
            yield Event("scrape.target", line.origin, {"job": job.group(1) if job else "", "up": value == 1.0}, "", line.time)
        elif name in _MONITOR and abs(value) < 1e18:
            readings.append(_Reading(line, name, dict(_LABEL.findall(labels)), value))
    yield from _monitor(readings)


def _monitor(readings: Sequence[_Reading]) -> Iterator[Record]:
    """Pages of one call; of a page that was fetched again the newest counters, of all runtimes together."""
    of = {name: [item for item in readings if item.name == name] for name in _MONITOR}
    for item in of["neuron_hardware_info"][-1:]:
        for name, label in _HARDWARE.items():
            count = whole(item.labels.get(label))
            if count:
                yield fact(item.line, name, count)
    for item in [item for item in readings if item.labels.get("instance_type") and "instance_id" in item.labels][:1]:
        yield fact(item.line, "host.instance_type", item.labels["instance_type"][:60])
    yield from _utilisation(of["neuroncore_utilization_ratio"], of["neuron_hardware_info"])
    used = [item for item in of["neuron_runtime_memory_used_bytes"] if item.labels.get("memory_location") == "neuron_device"]
    for name, items in (
        ("neuron.memory_used", used),
        ("neuron.ecc_record", [item for item in of["hardware_ecc_events_total"] if item.labels.get("event_type") in ECC]),
    ):
        newest = _newest(items)
        if newest:
            proof = next((item for item in newest if item.value > 0), newest[0])
            yield fact(proof.line, name, int(sum(item.value for item in newest)))
    yield from _host_memory(of["system_memory_total_bytes"], of["system_memory_used_bytes"])
    yield from _failures([*of["execution_errors_total"], *of["execution_status_total"]])


def _newest(items: Sequence[_Reading]) -> list[_Reading]:
    """The last reading of each set of labels."""
    return list({(item.name, *sorted(item.labels.items())): item for item in items}.values())


def _utilisation(items: Sequence[_Reading], hardware: Sequence[_Reading]) -> Iterator[Sample]:
    per = whole(hardware[-1].labels.get("neuroncore_per_device_count")) if hardware else None
    for item in items:
        core = whole(item.labels.get("neuroncore"))
        if core is not None:
            entity = f"nd{core // per}:nc{core % per}" if per else f"nc{core}"
            yield Sample("utilisation", item.value * 100.0, item.line.origin, "%", entity, item.line.time)


def _host_memory(totals: Sequence[_Reading], used: Sequence[_Reading]) -> Iterator[Record]:
    for total in totals[-1:]:
        yield fact(total.line, "host.memory_total", int(total.value))
        for item in used[-1:]:
            if 0 <= item.value <= total.value:
                yield fact(item.line, "host.memory_available", int(total.value - item.value))


def _failures(items: Sequence[_Reading]) -> Iterator[Record]:
    counts: dict[str, int] = {}
    proof: Line | None = None
    for item in _newest(items):
        name = item.labels.get("error_type") or item.labels.get("status_type") or ""
        if name in (*ERRORS, *FAILURES) and item.value >= 1:
            counts[name] = counts.get(name, 0) + int(item.value)
            proof = proof or item.line
    if proof is not None:
        yield fact(proof, "neuron.exec_errors", tuple(f"{name} {count}" for name, count in counts.items()))


FORMAT = LineFormat(
    name="prometheus",
    kind="metrics",
    triggers=(
        r"vllm:(?:num_requests|gpu_cache|kv_cache|avg_generation)\w{0,40}[{ ]",
        r"tgi_(?:queue_size|batch_current_size)",
        r"^\s{0,4}up\{",
        r"^\s{0,4}(?:neuroncore_(?:utilization_ratio|memory_usage_\w{3,40})|neuron_runtime_(?:memory|vcpu)\w{3,40})\{",
        r"^\s{0,4}(?:execution_(?:errors_total|status_total|latency_seconds)|hardware_ecc_events_total)\{",
        r"^\s{0,4}system_(?:memory|swap|vcpu)_\w{4,20}\{",
        r"^\s{0,4}(?:neuron_hardware_info|instance_info)\{",
    ),
    parse=_parse,
    before=4,  # the lines of types, helps and `_created` series stand between those that are wanted
    after=4,
)
