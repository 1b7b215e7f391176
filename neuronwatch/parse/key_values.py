"""Argument dumps and short descriptions that people write beside a log: `model=X tp_degree=8 n_positions=2048`, `key:
value` lines of an endpoint or a service, Ray's ScalingConfig."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._meanings import ARGUMENTS, flag_name, of_argument
from neuronwatch.parse._text import document_lines, fact, scalar, to_float, to_int
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat
from neuronwatch.parse.host_lines import INSTANCE_TYPE, instance

_PAIR = re.compile(r"(?<![\w.\-/])([a-z][a-z0-9_]{1,50})\s?=\s?(\[[^\[\]]{0,300}\]|\"[^\"]{0,300}\"|'[^']{0,300}'|[^\s,;(){}\[\]]{1,200})")
_FIELD = re.compile(r"^[\s\-*\"']{0,8}([A-Za-z][\w .\-/()]{1,60}?)[\"']?\s{0,6}[:=]\s{0,6}[\"']?(\S.{0,600}?)[\"',]{0,2}\s{0,8}$")
_SCALING = re.compile(r"ScalingConfig\s?[:(]")
_WORKERS = re.compile(r"num_workers\s?=\s?([0-9]{1,5})")
_CORES = re.compile(r"[\"']?neuron_cores[\"']?\s?[:=]\s?([0-9]{1,4})")
_MEMORY = re.compile(r"(?i)memory ?utilization(?:[ _]?max)?(?:imum)?\s{0,4}[:=]?\s{0,4}(?:max\s{0,4}[:=]?\s{0,4})?([0-9]{1,3}(?:\.[0-9]{1,6})?)\s?%?")
_ENDPOINT_TYPE = re.compile(r"(?i)\binstance[ _-]?type[\"']?\s{0,4}[:=]\s{0,4}[\"']?" + INSTANCE_TYPE)
_TIMEOUTS = re.compile(
    r"(?i)(startup[_ -]?timeout|(?:container[_ -]?)?start-?up[_ -]?health[_ -]?check[_ -]?timeout(?:[_ -]?in[_ -]?seconds)?|model[_ -]?(?:loading|data[_ -]?download)[_ -]?timeout"
    r"(?:[_ -]?in[_ -]?seconds)?|ContainerStartupHealthCheckTimeoutInSeconds|ModelDataDownloadTimeoutInSeconds)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([0-9]{1,6})"
)
_EXITED = re.compile(r"(?:did not become ready within|not (?:ready|healthy) (?:after|within)|timed out after|killed after|stopped after|failed after) ([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(s\b|sec|seconds|min|minutes)")
_SERVICE = {"model_server", "server", "engine", "status", "endpoint", "endpointname", "failurereason", "region", "service", "instancetype", "runtime", "framework", "image"}


def _dump(line: Line) -> Iterator[Record]:
    """A line of at least two `key=value` pairs of which one is an argument that tools share."""
    pairs = _PAIR.findall(line.body[:8000])[:100]
    if len(pairs) < 2 or not any(key in ARGUMENTS for key, _ in pairs):
        return
    for key, text in pairs:
        value = scalar(text)
        yield fact(line, f"arg.{flag_name(key)}", value)
        for name, read in of_argument(key, value):
            yield fact(line, name, read)


def _instance(line: Line) -> Iterator[Record]:
    kind = _ENDPOINT_TYPE.search(line.body[:4000])
    if kind:
        yield fact(line, "host.instance_type", instance(kind.group(1)))


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
        yield fact(line, "endpoint.startup_timeout", float(limit.group(2)))
    ended = _EXITED.search(text)
    if ended:
        yield fact(line, "endpoint.stopped_after", float(ended.group(1)) * (60.0 if ended.group(2).startswith("min") else 1.0))


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        # a launch line or a log record with pairs has its own parser
        if not re.match(r"^\s{0,8}(?:[+$#]|INFO|DEBUG|WARN|ERROR|\()", line.body) and " --" not in line.body:
            yield from _dump(line)
        yield from _notes(line)


def _sniff(document: Document) -> float:
    """A small file of nothing but `key: value` or `key=value` lines, with at least one key that is known here."""
    if document.size > 20_000 or document.text.lstrip()[:1] in ("{", "["):
        return 0.0
    lines = [line for line in document_lines(document) if line.text.strip() and not line.text.lstrip().startswith("#")]
    if not lines or len(lines) > 200:
        return 0.0
    rows = known = environment = 0
    for line in lines:
        environment += bool(re.match(r"^\s{0,4}(?:export )?[A-Z_][A-Z0-9_]{1,60}=", line.body))
        found = _FIELD.match(line.body)
        name = flag_name(found.group(1)) if found else ""
        pairs = _PAIR.findall(line.body)
        dump = len(pairs) >= 2 and any(key in ARGUMENTS for key, _ in pairs)
        rows += bool(found) or dump
        known += name in ARGUMENTS or name in _SERVICE or dump or bool(_SCALING.search(line.body))
    return 0.55 if known and environment < len(lines) * 0.5 and rows >= len(lines) * 0.6 else 0.0


def _parse_file(document: Document) -> Iterator[Record]:
    lines = document_lines(document)
    yield from _parse(lines)
    for line in lines:
        yield from _instance(line)
        found = _FIELD.match(line.body)
        if not found or len(_PAIR.findall(line.body)) > 1:
            continue
        name = flag_name(found.group(1))
        if name in ARGUMENTS:
            value = scalar(found.group(2))
            yield fact(line, f"arg.{name}", value)
            for meaning, read in of_argument(name, value):
                yield fact(line, meaning, read)
        elif name in ("vcpus", "nproc") and to_int(found.group(2)):
            yield fact(line, "host.vcpus", to_int(found.group(2)))


FORMATS = (
    FileFormat(name="description", kind="config", sniff=_sniff, parse=_parse_file),
    LineFormat(
        name="argument-dump",
        kind="config",
        triggers=(
            r"(?:tp_degree|tensor_parallel_size|n_positions|batch_size|sequence_length|max_model_len|num_cores|per_device_train_batch_size)\s?=\s?[0-9]",
            r"ScalingConfig\s?[:(]", r"(?i)memory ?utilization",
            r"(?i)(?:startup|health[_ -]?check|loading|download)[_ -]?timeout", r"did not become ready within", r"(?:killed|stopped|timed out) after [0-9]",
        ),
        parse=_parse,
    ),
)
