"""Prometheus text pages: vLLM's and TGI's queue gauges as series, the state of scrape targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, to_float
from neuronwatch.parse.api import Line, LineFormat

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


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
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


FORMAT = LineFormat(
    name="prometheus",
    kind="metrics",
    triggers=(
        r"vllm:(?:num_requests|gpu_cache|kv_cache|avg_generation)\w{0,40}[{ ]",
        r"tgi_(?:queue_size|batch_current_size)",
        r"^\s{0,4}up\{",
    ),
    parse=_parse,
)
