"""Argument dumps and short descriptions that people write beside a log: `model=X tp_degree=8 n_positions=2048`, `key:
value` lines of an endpoint or a service, Ray's ScalingConfig."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import ARGUMENTS, flag_name, of_argument
from neuronwatch.parse._text import fact, scalar, to_float
from neuronwatch.parse.api import Line, LineFormat

_PLAIN = (
    r"(?:tp_degree|tensor_(?:model_)?parallel_(?:size|degree)|pipeline_(?:model_)?parallel_size|micro_batch_size|n_positions|(?:max_)?batch_size|"
    r"sequence_length|max_model_len|"
    r"max_num_seqs|num_cores|num_neuron_cores|per_device_train_batch_size|gradient_accumulation_steps|"
    r"max_total_tokens|max_rolling_batch_size)"
)
_PAIR = lazy(
    r"(?<![\w.\-/])([a-z][a-z0-9_]{1,50})\s?=\s?(\[[^\[\]]{0,300}\]|\"[^\"]{0,300}\"|'[^']{0,300}'|[^\s,;(){}\[\]]{1,200})"
)
_FIELD = lazy(r"^[\s\-*\"'|]{0,8}(" + _PLAIN + r")[\"']?\s{0,6}[:=]\s{0,6}[\"']?([\w.+\-]{1,60})[\"',|]{0,2}\s{0,8}$")
_LITERAL = lazy(r"[\"']" + _PLAIN[:-1].replace("(?:", "(", 1) + r")[\"']\s{0,2}:\s{0,2}([0-9]{1,7})\b(?=\s{0,2}[,}])")
_ASSIGNED = lazy(r"^\s{0,8}(?:\w*(?:args|shapes|kwargs|config|params|options))\s{0,2}=\s{0,2}\{")
_ELSEWHERE = lazy(r" --|LLM engine|with config:|Namespace\(|args: [{N]|^\s{0,8}(?:[+$#]|INFO|DEBUG|WARN|ERROR|\()")
_SCALING = lazy(r"ScalingConfig\s?[:(]")
_WORKERS = lazy(r"num_workers\s?=\s?([0-9]{1,5})")
_CORES = lazy(r"[\"']?neuron_cores[\"']?\s?[:=]\s?([0-9]{1,4})")
_MEMORY = lazy(
    r"(?i)memory ?utilization(?:[ _]?max)?(?:imum)?\s{0,4}[:=]?\s{0,4}(?:max\s{0,4}[:=]?\s{0,4})?([0-9]{1,3}(?:\.[0-9]{1,6})?)\s?%?"
)
_TIMEOUTS = lazy(
    r"(?i)(?:startup[_ -]?timeout|start-?up[_ -]?health[_ -]?check[_ -]?timeout(?:[_ -]?in[_ -]?seconds)?|"
    r"model[_ -]?(?:loading|data[_ -]?download)"
    r"[_ -]?timeout(?:[_ -]?in[_ -]?seconds)?|StartupHealthCheckTimeoutInSeconds|ModelDataDownloadTimeoutInSeconds)"
    r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?([0-9]{1,6})"
)
_EXITED = lazy(
    r"(?:did not become ready within|not (?:ready|healthy) (?:after|within)|timed out after|killed after|"
    r"stopped after|failed after) "
    r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(s\b|sec|seconds|min|minutes)"
)


def _arguments(line: Line, pairs: Sequence[tuple[str, str]]) -> Iterator[Record]:
    for key, text in pairs:
        value = scalar(text)
        yield fact(line, f"arg.{flag_name(key)}", value)
        for name, read in of_argument(key, value):
            if not name.startswith("endpoint."):
                yield fact(line, name, read)


def _dump(line: Line) -> Iterator[Record]:
    """A line of at least two `key=value` pairs of which one is an argument that tools share, or one `key: value` line."""
    field = _FIELD.match(line.body)
    if field:
        yield from _arguments(line, [(field.group(1), field.group(2))])
        return
    if _ASSIGNED.match(line.body):  # `compiler_args = {"num_cores": 24, "auto_cast_type": "fp16"}` of a notebook
        yield from _arguments(line, _LITERAL.findall(line.body[:2000])[:20])
        return
    pairs = _PAIR.findall(line.body[:8000])[:100]
    if len(pairs) >= 2 and any(key in ARGUMENTS for key, _ in pairs):
        yield from _arguments(line, pairs)


def _notes(line: Line) -> Iterator[Record]:
    text = line.body[:4000]
    if _SCALING.search(text):
        workers, cores = _WORKERS.search(text), _CORES.search(text)
        if workers:
            yield fact(line, "launch.workers", int(workers.group(1)))
        if cores:
            yield fact(line, "launch.workers_per_cores", int(cores.group(1)))
    memory = _MEMORY.search(text)
    number = to_float(memory.group(1)) if memory else None
    if number is not None and number <= 100.0:
        yield fact(line, "endpoint.memory_max", number)
    limit = _TIMEOUTS.search(text)
    if limit:
        yield fact(line, "endpoint.startup_timeout", float(limit.group(1)))
    ended = _EXITED.search(text)
    if ended:
        factor = 60.0 if ended.group(2).startswith("min") else 1.0
        yield fact(line, "endpoint.stopped_after", float(ended.group(1)) * factor)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        # a launch line or a log record with pairs has its own parser
        if not _ELSEWHERE.search(line.body[:4000]) and not _SCALING.search(line.body[:4000]):
            yield from _dump(line)
        yield from _notes(line)


FORMAT = LineFormat(
    name="argument-dump",
    kind="config",
    triggers=(
        r"(?:args|shapes|kwargs|config|params|options)\s{0,2}=\s{0,2}\{\s{0,2}[\"']",
        _PLAIN + r"[\"']?\s{0,6}[:=]\s{0,6}[\"']?[0-9]",
        r"ScalingConfig\s?[:(]",
        r"(?i)memory ?utilization",
        r"(?i)(?:startup|health[_ -]?check|loading|download)[_ -]?timeout",
        r"did not become ready within",
        r"(?:killed|stopped|timed out) after [0-9]",
    ),
    parse=_parse,
)
