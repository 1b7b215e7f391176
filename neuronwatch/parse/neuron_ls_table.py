"""The table of `neuron-ls`, all layouts from 2019 on, read by the names of its columns.

Sizes: the tool prints `32 GB` and means GiB. NEURON CORES counts logical cores, except in the 2.21 beta, which has a
column LOGICAL NC beside the physical count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from neuronwatch.model.records import Fact, Issue, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.table import Table, loose_rows, tables
from neuronwatch.parse.units import indexes, size

TOOLS = ("neuron-ls", "neuron-monitor", "neuron-top")
"""Processes that `--show-all-procs` lists but that own no core."""

_HEADER_LINE = lazy(r"\b(?P<key>instance-type|instance-id|logical-neuroncore-config):\s{0,8}(?P<value>[\w.-]{1,60})")
_TYPE = lazy(r"[a-z][a-z0-9-]{1,12}\.(?:\d{0,3}x?large|metal[\w-]{0,20}|nano|micro|small|medium)")
_NONE_FOUND = lazy(r"\s{0,8}(?:neuron-ls: |error: ){0,2}no neuron devices? (?:found|detected)\.?\s{0,8}$", re.IGNORECASE)
_BDF = lazy(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d", re.IGNORECASE)


class Process(NamedTuple):
    """A process that neuron-ls shows on a device; `command` and `runtime` may be empty."""

    pid: int
    command: str
    runtime: str
    line: Line


class Device(NamedTuple):
    """One device; `memory` in bytes; None where the table does not say."""

    number: int
    cores: int | None
    physical: int | None
    memory: int | None
    core_ids: tuple[int, ...]
    processes: tuple[Process, ...]
    line: Line


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts `neuron.*` and `host.instance_type` of every table in `lines`."""
    found_table = False
    for line in lines:
        yield from _header_facts(line)
    for table in tables(lines):
        devices = _devices(table)
        if devices:
            found_table = True
            yield from device_facts(devices, table.line, table.closed)
    if not found_table:
        devices = _loose_devices(lines)
        if devices:
            yield from device_facts(devices, devices[0].line, False)


def _header_facts(line: Line) -> Iterator[Fact]:
    for found in _HEADER_LINE.finditer(line.body):
        value = found.group("value")
        if found.group("key") == "instance-type" and _TYPE.fullmatch(value):
            yield fact(line, "host.instance_type", value)
        elif found.group("key") == "logical-neuroncore-config" and value.isdecimal():
            yield fact(line, "neuron.lnc", int(value))
    if _NONE_FOUND.match(line.body):
        yield fact(line, "neuron.devices", 0)


def _pick(cells: dict[str, str], *names: str) -> str:
    return next((cells[name] for name in names if cells.get(name)), "")


def _devices(table: Table) -> list[Device]:
    if not any(name in table.headings for name in ("NEURON DEVICE", "LOGICAL ID")):
        return []
    devices: list[Device] = []
    for row in table.rows:
        number = _pick(row.cells, "NEURON DEVICE", "LOGICAL ID")
        process = _process(row.cells, row.line)
        if number.isdecimal() and len(number) < 5:
            devices.append(_device(int(number), row.cells, process, row.line))
        elif process and devices and not number:
            last = devices[-1]
            devices[-1] = last._replace(processes=(*last.processes, process))
    return devices


def _device(number: int, cells: dict[str, str], process: Process | None, line: Line) -> Device:
    cores = _pick(cells, "NEURON CORES")
    logical = _pick(cells, "LOGICAL NC")
    physical = int(cores) if cores.isdecimal() and logical.isdecimal() else None
    usable = logical if logical.isdecimal() else cores
    channels = [size(cells[name]) for name in ("MEMORY CHANNEL 0", "MEMORY CHANNEL 1") if cells.get(name)]
    memory = size(_pick(cells, "NEURON MEMORY")) if cells.get("NEURON MEMORY") else None
    if memory is None and channels and None not in channels:
        memory = sum(channel for channel in channels if channel is not None)
    return Device(
        number,
        int(usable[:6]) if usable.isdecimal() else None,
        physical,
        memory,
        indexes(_pick(cells, "NEURON CORE IDS")),
        (process,) if process else (),
        line,
    )


def _process(cells: dict[str, str], line: Line) -> Process | None:
    pid = _pick(cells, "PID", "RUNTIME PID")
    if not pid.isdecimal() or len(pid) > 10:
        return None
    runtime = _pick(cells, "RUNTIME VERSION")
    return Process(int(pid), _pick(cells, "COMMAND"), "" if runtime == "NA" else runtime, line)


def _loose_devices(lines: Sequence[Line]) -> list[Device]:
    """Devices of a table whose head is cut off: rows with a number, a count of cores, a size and a PCI address."""
    devices = []
    for line, cells in loose_rows(lines):
        memory = next((size(cell) for cell in cells if re.fullmatch(r"\d{1,5} ?GB", cell)), None)
        numbers = cells[:2]
        if memory is None or not any(_BDF.fullmatch(cell) for cell in cells):
            continue
        if len(numbers) == 2 and all(cell.isdecimal() and len(cell) < 5 for cell in numbers):
            devices.append(Device(int(numbers[0]), int(numbers[1]), None, memory, (), (), line))
    return devices


def device_facts(devices: Sequence[Device], line: Line, complete: bool) -> Iterator[Record]:
    """Facts of one listing, of the table or of `neuron-ls -j`; `line` is where the listing begins. A listing that is not
    `complete` says nothing about how many devices there are."""
    numbers = {device.number for device in devices}
    proof = _telling_row(devices)
    if complete:
        yield fact(proof, "neuron.devices", len(numbers))
        yield fact(proof, "neuron.device_ids", tuple(sorted(numbers)))
    else:
        yield Issue(line.origin, f"the neuron-ls listing is cut: {len(numbers)} devices are shown, more may exist")
    cores = [device.cores for device in devices if device.cores is not None]
    if cores:
        yield fact(devices[0].line, "neuron.cores_per_device", cores[0])
        if complete and len(cores) == len(devices):
            yield fact(proof, "neuron.cores", sum(cores))
    physical = devices[0].physical
    if physical and cores and cores[0] and physical % cores[0] == 0:
        yield fact(devices[0].line, "neuron.lnc", physical // cores[0])
    if devices[0].memory:
        yield fact(devices[0].line, "neuron.device_memory", devices[0].memory)
    yield from _process_facts(devices, complete)


def _telling_row(devices: Sequence[Device]) -> Line:
    """The row that shows how many devices there are: the one after a gap in the numbers, else the last one."""
    for before, device in pairwise(devices):
        if device.number > before.number + 1:
            return device.line
    return devices[-1].line


def _process_facts(devices: Sequence[Device], complete: bool) -> Iterator[Fact]:
    owners = [
        (device, process)
        for device in devices
        for process in device.processes
        if process.command.rsplit("/", 1)[-1].split(" ")[0] not in TOOLS
    ]
    if not owners:
        # The columns of processes are dropped when nobody is attached: that is an answer, not a gap.
        if complete:
            yield fact(devices[0].line, "neuron.busy_pids", ())
        return
    line = owners[0][1].line
    yield fact(line, "neuron.busy_pids", tuple(dict.fromkeys(process.pid for _, process in owners)))
    yield fact(line, "neuron.busy_devices", tuple(dict.fromkeys(device.number for device, _ in owners)))
    commands = tuple(dict.fromkeys(process.command for _, process in owners if process.command not in ("", "NA")))
    if commands:
        yield fact(line, "neuron.holders", commands)
    runtimes = tuple(dict.fromkeys(process.runtime for _, process in owners if process.runtime))
    if runtimes:
        yield fact(line, "neuron.process_runtimes", runtimes)


FORMAT = LineFormat(
    name="neuron-ls",
    kind="listing",
    triggers=(
        r"\| NEURON \|",
        r"instance-type: {0,4}[a-z]",
        r"logical-neuroncore-config:",
        r"\d GB +\| +[0-9a-f, ]{0,60}",
        r"(?i:no neuron devices? (?:found|detected))",
    ),
    parse=parse,
    before=8,
    after=220,
)
