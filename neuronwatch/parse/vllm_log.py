"""vLLM server lines of all releases: throughput and queue statistics, engine configuration, non-default arguments, cache
sizes, and what the Neuron loader prints."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import flag_name, of_argument
from neuronwatch.parse._text import fact, scalar
from neuronwatch.parse.api import Line, LineFormat

_STATE = lazy(
    r"(Running|Waiting|Pending|Swapped|Preempted|Avg generation throughput|Avg prompt throughput|KV cache usage): "
    r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(?= reqs| requests| tokens/s|%)"
)
_START = lazy(r"vLLM API server version |Starting vLLM API server\b")
_STATS = {
    "Running": ("running", "requests"),
    "Waiting": ("waiting", "requests"),
    "Pending": ("waiting", "requests"),
    "Swapped": ("preempted", "requests"),
    "Preempted": ("preempted", "requests"),
    "Avg generation throughput": ("tokens_per_s", "tokens/s"),
    "Avg prompt throughput": ("prompt_tokens_per_s", "tokens/s"),
    "KV cache usage": ("kv_usage", "%"),
}
_ENGINE = lazy(
    r"Initializing (?:a |an )?(?:V[01] )?(?:LLM|Async LLM|async LLM)? ?engine \(v?([0-9][\w.+\-]{0,40})"
    r"\) with config: (.{2,60000})$"
)
_ENGINE_OLD = lazy(r"Initializing an LLM engine with config: (.{2,60000})$")
_VERSION = lazy(r"vLLM API server version ([0-9][\w.+\-]{0,40})|vLLM engine version ([0-9][\w.+\-]{0,40})")
_RELEASE = lazy(r"^[0-9]{1,3}\.[0-9]{1,4}(?:\.[0-9]|\.dev|\+|rc|$)")
_KEY = lazy(
    r"\b(model|max_seq_len|max_model_len|tensor_parallel_size|pipeline_parallel_size|data_parallel_size|"
    r"dtype|device_config|max_num_seqs|block_size|quantization|revision)=('[^']{0,300}'|[^,\s()]{1,120})"
)
_ARGS = lazy(r"(?:non-default args|args|Using (?:engine )?arg(?:ument)?s): (\{.{2,40000}\}|Namespace\(.{2,40000}\))")
_NAMESPACE = lazy(r"\b([a-z_][\w]{1,60})=('[^']{0,400}'|\[[^\[\]]{0,400}\]|[^,()\[\]'\"]{1,120})(?=, |\)$|\)\s)")
_LIMITS = (
    (
        "serve.batch_limit",
        lazy(
            r"(?:max_num_seqs|max_batch_size|batch_size) (?:is|=|of|to|:) ?([0-9]{1,6})\b|Maximum (?:concurrency|"
            r"batch size)[^:]{0,60}: ([0-9]{1,6})(?![\d.])"
        ),
    ),
)


def _stats(line: Line) -> Iterator[Record]:
    """One sample a statistic; of several KV caches (GPU, CPU) the first. A repeated name begins a glued second record."""
    origin, entity = line.origin, line.entity
    if "Running: " not in line.body and "throughput: " not in line.body:
        if _START.search(line.body):
            yield Sample("server_start", 1.0, origin, "", "", line.time)
        return
    seen: set[str] = set()
    for label, number in _STATE.findall(line.body[:100_000]):
        name, unit = _STATS[label]
        if name in seen:
            if name == "kv_usage":
                continue
            seen.clear()
        seen.add(name)
        yield Sample(name, float(number), origin, unit, entity, line.time)


def _argument(line: Line, key: str, text: object) -> Iterator[Record]:
    if isinstance(text, dict):
        text = json.dumps(text, default=str)
    value = scalar(str(text)) if not isinstance(text, (bool, int, float)) else text
    if value in ("None", "", "auto"):
        return
    name = flag_name(key)
    if name in (
        "model",
        "tensor_parallel_size",
        "max_model_len",
        "max_num_seqs",
        "block_size",
        "device",
        "pipeline_parallel_size",
        "data_parallel_size",
        "hf_overrides",
    ):
        yield fact(line, f"arg.{name}", value)
    for meaning, read in of_argument(name, value):
        yield fact(line, meaning, read)


def _engine(line: Line) -> Iterator[Record]:
    found = _ENGINE.search(line.body)
    config = found.group(2) if found else None
    if found and _RELEASE.match(found.group(1)):
        yield fact(line, "pkg.vllm", found.group(1))
    old = None if found else _ENGINE_OLD.search(line.body)
    config = old.group(1) if old else config
    if config:
        yield fact(line, "launch.program", "vllm")
        for key, text in _KEY.findall(config):
            if key == "device_config":
                # old releases run Neuron under a device "cpu", so that value says nothing
                device = re.search(r"neuron|cuda|tpu|xpu|hpu", text)
                if device:
                    yield fact(line, "launch.device", device.group())
            elif key not in ("revision", "quantization"):
                yield from _argument(line, "max_model_len" if key == "max_seq_len" else key, text)


def _args(line: Line) -> Iterator[Record]:
    found = _ARGS.search(line.body)
    if not found:
        return
    text = found.group(1)
    if text.startswith("{"):
        try:
            values = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return
        for key, value in list(values.items())[:200] if isinstance(values, dict) else ():
            if isinstance(value, (str, int, float, bool, dict)):
                yield from _argument(line, str(key), value)
        return
    for key, value in _NAMESPACE.findall(text)[:400]:
        yield from _argument(line, key, value.strip("'"))


def _parse_stats(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        yield from _stats(line)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        version = _VERSION.search(line.body)
        if version and _RELEASE.match(version.group(1) or version.group(2)):
            yield fact(line, "pkg.vllm", version.group(1) or version.group(2))
        yield from _engine(line)
        yield from _args(line)
        for name, pattern in _LIMITS:
            found = pattern.search(line.body) if len(line.body) < 2000 else None
            number = next((group for group in found.groups() if group), None) if found else None
            if number:
                yield fact(line, name, int(number))


FORMATS = (
    LineFormat(
        name="vllm-statistics",
        kind="log",
        triggers=(
            r"Running: [0-9]{1,9}(?:\.\d)? req",
            r"Avg prompt throughput: ",
            r"vLLM API server version ",
            r"Starting vLLM API server",
        ),
        parse=_parse_stats,
        series=True,
    ),
    LineFormat(
        name="vllm-log",
        kind="log",
        triggers=(
            r"Initializing (?:a |an )?(?:V[01] )?(?:Async )?(?:LLM )?engine",
            r"vLLM (?:API server|engine) version ",
            r"(?:non-default args|args): (?:\{|Namespace\()",
            r"Maximum (?:concurrency|batch size)",
            r"(?:max_num_seqs|max_batch_size) (?:is|=|of|to|:) ?[0-9]",
        ),
        parse=_parse,
    ),
)
