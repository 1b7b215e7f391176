"""The block that libnrt prints on a failure (`nrt_infodump`): versions, kernel, failed call, visible cores, environment.

Blocks of several processes may be interleaved; they are told apart by pid and tid. Lines whose libnrt header was removed
are read too, inside a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Event, Fact, Record
from neuronwatch.parse import _nrt
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.nrt_log import INFODUMP

_ITEM = lazy(
    r"\s{0,8}(?P<key>NRT version|Embedded FW version|CCOM version|NCFW version|Instance ID|Cluster ID|Kernel|Nodename"
    r"|Driver version|Failure|LNC|Visible cores|Framework version): {0,8}(?P<value>\S.{0,400})$"
)
_VERSION = lazy(r"\d{1,2}(?:\.\d{1,8}){1,4}")
_FAILURE = lazy(r"(?P<status>NRT_[A-Z_]{3,60})(?: in (?P<function>\w{1,80}))?")
_KERNEL = lazy(r"Linux (?P<release>\d{1,2}\.\d{1,3}[\w.+-]{0,80})")
_VARIABLE = lazy(r"\s{0,12}(?P<name>[A-Z][A-Z0-9_]{2,80})=(?P<value>.{0,2000})$")
_START = lazy(r"\[ cut here \]|Neuron runtime information - please include")
_END = "[ cut to here ]"
_TRUE = ("1", "true", "yes")


@dataclass
class _Block:
    """What one process has printed so far: value and line of each item."""

    values: dict[str, tuple[str, Line]] = field(default_factory=dict)
    environment: dict[str, tuple[str, Line]] = field(default_factory=dict)
    time: float | None = None
    first: Line | None = None


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts `runtime.*`, `driver.loaded`, `host.kernel`, `host.hostname`, `env.*` and an Event `nrt.infodump` a block."""
    open_blocks: dict[tuple[int, int], _Block] = {}
    closed: list[_Block] = []
    for line, writer, message, time in _messages(lines):
        if _START.search(message):
            block = open_blocks.get(writer)
            if block is not None and block.values:
                closed.append(open_blocks.pop(writer))
            open_blocks.setdefault(writer, _Block())
        block = open_blocks.get(writer)
        if block is None:
            if not _ITEM.match(message):
                continue
            block = open_blocks[writer] = _Block()
        block.first = block.first or line
        block.time = block.time if block.time is not None else time
        _take(block, line, message)
        if _END in message:
            closed.append(open_blocks.pop(writer))
    for block in [*closed, *open_blocks.values()]:
        yield from _records(block)


def _messages(lines: Sequence[Line]) -> Iterator[tuple[Line, tuple[int, int], str, float | None]]:
    """The lines of infodump with their writer; a bare line belongs to the last writer that was seen."""
    by_line: dict[int, list[_nrt.Record]] = {}
    for record in _nrt.records(lines):
        by_line.setdefault(id(record.line), []).append(record)
    writer = (0, 0)
    inside = False
    for line in lines:
        found = by_line.get(id(line))
        if found is None:
            if inside or line.body.lstrip().startswith("NRT version:") or _START.search(line.body):
                inside = True
                yield line, writer, line.body, line.time
                inside = _END not in line.body
            continue
        for record in found:
            if record.function == INFODUMP:
                writer = (record.pid or 0, record.tid or 0)
                inside = _END not in record.message
                yield line, writer, record.message, record.time


def _take(block: _Block, line: Line, message: str) -> None:
    item = _ITEM.match(message)
    if item:
        block.values.setdefault(item.group("key"), (item.group("value").strip(), line))
        return
    variable = _VARIABLE.match(message)
    if variable:
        block.environment.setdefault(variable.group("name"), (variable.group("value"), line))


def _records(block: _Block) -> Iterator[Record]:
    if block.first is None or not (block.values or block.environment):
        return
    for key, name in (
        ("NRT version", "runtime.version"),
        ("Driver version", "driver.loaded"),
        ("CCOM version", "runtime.collectives_version"),
    ):
        yield from _version(block, key, name)
    for key, name, pattern in (
        ("Kernel", "host.kernel", _KERNEL),
        ("Nodename", "host.hostname", re.compile(r"(?P<name>[\w.-]{1,120})$")),
        ("Instance ID", "runtime.instance_id", re.compile(r"(?P<id>i-[0-9a-f]{8,20})$")),
        ("Visible cores", "runtime.visible_cores", re.compile(r"(?P<cores>[\d, -]{1,200})$")),
    ):
        value, line = block.values.get(key, ("", block.first))
        found = pattern.match(value)
        if found:
            yield fact(line, name, found.group(1).strip())
    failure = _FAILURE.match(block.values.get("Failure", ("", block.first))[0])
    if failure and failure.group("status") != "NRT_SUCCESS":
        line = block.values["Failure"][1]
        yield fact(line, "runtime.status", failure.group("status"))
        if failure.group("function"):
            yield fact(line, "runtime.failed_in", failure.group("function"))
    yield from _environment(block)
    fields = {key.lower().replace(" ", "_"): value for key, (value, _) in block.values.items()}
    time = block.first.time if block.first.time is not None else block.time
    yield Event("nrt.infodump", block.first.origin, fields, entity=block.first.entity, time=time)


def _version(block: _Block, key: str, name: str) -> Iterator[Fact]:
    if key in block.values:
        value, line = block.values[key]
        found = _VERSION.match(value)
        if found:
            yield fact(line, name, found.group())


def _environment(block: _Block) -> Iterator[Fact]:
    for name, (value, line) in block.environment.items():
        yield fact(line, f"env.{name}", value.strip())
        if name == "NEURON_RT_ENABLE_DGE_NOTIFICATIONS":
            yield fact(line, "neuron.dge_notifications", value.strip().lower() in _TRUE)


FORMAT = LineFormat(
    name="nrt-infodump",
    kind="log",
    triggers=(r"nrt_infodump", r"NRT version: \d", r"Neuron runtime information - please include"),
    parse=parse,
    after=40,
)
