"""`neuron-ls -j`: an array with one object per device, alone in a file, behind a prompt, several in one text, or cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.lines import json_documents
from neuronwatch.parse.neuron_ls_table import Device, Process, device_facts
from neuronwatch.parse.units import whole

_KEY = lazy(r'"(?P<key>[a-z_]{3,40})"\s{0,4}:\s{0,4}(?P<value>"[^"]{0,400}"|-?\d{1,18}|null)?')
_MAX_DEVICE = 1000
"""neuron-monitor has a `"neuron_device"` too: bytes in use on all devices."""
_OF_A_DEVICE = ("bdf", "nc_count")
"""What every release prints of a device, and neuron-monitor of nothing."""
_NUMBERS = ("neuron_device", "nc_count", "memory_size", "logical_neuroncore_config", "pid")


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts `neuron.*` and `host.instance_type` of every listing in `lines`."""
    found = False
    for document in json_documents(lines):
        entries = document.value if isinstance(document.value, list) else [document.value]
        objects = [entry for entry in entries if isinstance(entry, dict) and _is_device(entry)]
        if objects:
            found = True
            yield from _listing(objects, document.line, isinstance(document.value, list))
    if not found and any('"neuron_device"' in line.body for line in lines):
        yield from _cut(lines)


def _is_device(entry: Mapping[str, Any]) -> bool:
    return "neuron_device" in entry and any(key in entry for key in _OF_A_DEVICE)


def _listing(objects: Sequence[Mapping[str, Any]], line: Line, complete: bool) -> Iterator[Record]:
    devices = [device for device in (_device(entry, line) for entry in objects) if device is not None]
    if not devices:
        return
    kind = next((entry["instance_type"] for entry in objects if isinstance(entry.get("instance_type"), str)), "")
    if kind:
        yield fact(line, "host.instance_type", kind[:60])
    lnc = next((whole(entry.get("logical_neuroncore_config")) for entry in objects), None)
    if lnc:
        yield fact(line, "neuron.lnc", lnc)
    yield from device_facts(devices, line, complete)


def _device(entry: Mapping[str, Any], line: Line) -> Device | None:
    number = whole(entry.get("neuron_device"))
    if number is None or number >= _MAX_DEVICE:
        return None
    ids = entry.get("neuroncore_ids")
    processes = entry.get("neuron_processes")
    return Device(
        number,
        whole(entry.get("nc_count")),
        None,
        whole(entry.get("memory_size")),
        tuple(core for core in map(whole, ids) if core is not None) if isinstance(ids, list) else (),
        tuple(_processes(processes, line)) if isinstance(processes, list) else (),
        line,
    )


def _processes(entries: Sequence[Any], line: Line) -> Iterator[Process]:
    for entry in entries:
        pid = whole(entry.get("pid")) if isinstance(entry, dict) else None
        if pid is not None:
            runtime = str(entry.get("neuron_runtime_version") or "")
            yield Process(pid, str(entry.get("command") or "")[:200], "" if runtime == "NA" else runtime[:40], line)


def _cut(lines: Sequence[Line]) -> Iterator[Record]:
    """A listing whose end or beginning is missing: its `"key": value` pairs, device by device, in the order of lines."""
    devices: list[Device] = []
    current: dict[str, Any] = {}
    processes: list[Process] = []
    start: Line | None = None
    kind = ""
    for line in lines:
        for found in _KEY.finditer(line.body):
            key, raw = found.group("key"), found.group("value") or ""
            value: Any = int(raw) if key in _NUMBERS and raw.lstrip("-").isdecimal() else raw.strip('"')
            if key == "instance_type":
                kind = kind or str(value)
            elif key == "neuron_device":
                _close(devices, current, processes, start)
                current, processes, start = {key: value}, [], line
            elif key == "pid" and isinstance(value, int):
                processes.append(Process(value, "", "", line))
            elif key == "command" and processes:
                processes[-1] = processes[-1]._replace(command=str(value))
            elif key == "neuron_runtime_version" and processes:
                processes[-1] = processes[-1]._replace(runtime=str(value))
            else:
                current.setdefault(key, value)
    _close(devices, current, processes, start)
    if not devices:
        return
    if kind and kind != "null":
        yield fact(devices[0].line, "host.instance_type", kind)
    yield from device_facts(devices, devices[0].line, False)


def _close(devices: list[Device], current: dict[str, Any], processes: list[Process], line: Line | None) -> None:
    if line is None or not _is_device(current):
        return
    device = _device(current, line)
    if device is not None:
        devices.append(device._replace(processes=tuple(processes)))


FORMAT = LineFormat(
    name="neuron-ls-json",
    kind="listing",
    triggers=(r'"neuron_device"\s*:\s*\d{1,3}\s*(?:,|$)', r'"neuron_processes"\s*:', r'"nc_count"\s*:'),
    parse=parse,
    before=16,
    after=60,
)
