"""`neuron-monitor`: one JSON document a line, pretty-printed ones, fragments with a few groups, and cut records.

Groups are found by their keys at any depth, so that a record of any release (or only a part of one) is read. Percentages
are 0 to 100, sizes bytes. An idle host has no utilisation at all: that is unknown, not 0. Execution counters are tallies
of one period; they are summed over the records of one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Fact, Issue, Origin, Record, Sample
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.lines import json_documents, json_value_after, walk
from neuronwatch.parse.units import number, whole

KEYS = (
    "neuron_runtime_data",
    "neuroncore_counters",
    "neuroncores_in_use",
    "neuron_hw_counters",
    "neuron_hardware_info",
    "execution_stats",
    "memory_used",
    "memory_info",
    "instance_info",
)
_GROUPS = frozenset((*KEYS, "neuron_runtime_vcpu_usage", "vcpu_usage", "inference_stats", "hw_counters", "neuron_k8s_info"))
ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
FAILURES = ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
ERRORS = ("generic", "numerical", "transient", "model", "runtime", "hardware")
_WANTED = _GROUPS | {
    "neuron_devices", "neuron_runtime_used_bytes", "instance_type", "memory_total_bytes", "memory_used_bytes", "swap_total_bytes",
    "execution_summary", "error_summary",
}  # fmt: skip
"""The keys that `_document` asks for."""
_CHIPS = {"inferentia": "inf1", "trainium": "trn1", "inferentia2": "inf2", "trainium2": "trn2", "trainium3": "trn3"}
_MAX_CORES = 1024


@dataclass
class _Tally:
    """What is known after all records of one call: the value and where it was last read."""

    facts: dict[str, tuple[Any, Origin]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    failed_at: Origin | None = None
    errors: dict[str, Origin] = field(default_factory=dict)
    per_device: int | None = None
    seconds: float = 0.0


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts of the newest record, a Sample `utilisation` (entity `nd0:nc1`, or `nc1` where the number of cores of a
    device is unknown) for each core and a Sample `host_memory` for each record, and an Issue for each cut record."""
    tally = _Tally()
    documents = [item for item in json_documents(lines) if _mentions(item.value)]
    for document in documents:
        _hardware(document.value, document.line.origin, tally)
    for document in documents:
        yield from _document(document.value, document.line, tally)
    read = {index for document in documents for index in document.span}
    rest = [line for index, line in enumerate(lines) if index not in read]
    if any(_has_key(line.body) for line in rest):
        yield from _fragments(rest, tally)
    for name, (value, origin) in tally.facts.items():
        yield Fact(name, value, origin)
    if tally.failed_at is not None:
        counts = tuple(f"{name} {count}" for name, count in tally.failures.items())
        yield Fact("neuron.exec_errors", counts, tally.failed_at)
    if tally.errors:
        yield Fact("monitor.errors", tuple(tally.errors), next(iter(tally.errors.values())))


def _has_key(body: str) -> bool:
    return any(f'"{key}"' in body for key in KEYS)


def _mentions(value: Any) -> bool:
    return any(not _GROUPS.isdisjoint(item) for item in walk(value, 4))


def _fragments(rest: Sequence[Line], tally: _Tally) -> Iterator[Record]:
    """Groups of records that do not decode as a whole: cut at either end, or pretty-printed and cut."""
    pieces = [(line.body, line) for line in rest if sum(line.body.count(f'"{key}"') for key in KEYS) > 1]
    if not pieces:
        first = next(line for line in rest if _has_key(line.body))
        pieces = [("\n".join(line.body for line in rest), first)]
    for text, line in pieces:
        values = [{key: value} for key in KEYS[1:] for value in json_value_after(text, key)]
        # A group inside of a group that was read is not read twice.
        outer = [value for value in values if not any(value is not other and _inside(value, other) for other in values)]
        if outer:
            yield Issue(line.origin, "a neuron-monitor record is cut: groups of it may be missing")
        _hardware(outer, line.origin, tally)
        yield from _document(outer, line, tally)


def _inside(value: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    ((key, group),) = value.items()
    ((_, holder),) = other.items()
    return any(item.get(key) == group for item in walk(holder, 6))


def _hardware(value: Any, origin: Origin, tally: _Tally) -> None:
    for item in walk(value, 4):
        info = item.get("neuron_hardware_info")
        if not isinstance(info, dict):
            continue
        names = {
            "neuron.devices": "neuron_device_count",
            "neuron.cores_per_device": "neuroncore_per_device_count",
            "neuron.device_memory": "neuron_device_memory_size",
            "neuron.lnc": "logical_neuroncore_config",
        }
        for name, key in names.items():
            count = whole(info.get(key))
            if count:
                tally.facts[name] = (count, origin)
        chip = _CHIPS.get(str(info.get("neuron_device_type")))
        if chip:
            tally.facts["neuron.architecture"] = (chip, origin)
        tally.per_device = whole(info.get("neuroncore_per_device_count")) or tally.per_device


def _document(value: Any, line: Line, tally: _Tally) -> Iterator[Record]:
    origin = line.origin
    used: int | None = None
    for item in walk(value):
        if _WANTED.isdisjoint(item):  # most are the use of one processor or one core
            continue
        cores = item.get("neuroncores_in_use")
        if isinstance(cores, dict):
            yield from _cores(cores, line, origin, tally)
        devices = item.get("neuron_devices")
        if isinstance(devices, list):
            _ecc(devices, origin, tally)
        memory = item.get("neuron_runtime_used_bytes")
        if isinstance(memory, dict):
            on_device = whole(memory.get("neuron_device"))
            used = used if on_device is None else (used or 0) + on_device
        _host(item, origin, tally)
        yield from _host_memory(item, line, origin, tally)
        _executions(item, origin, tally)
        for key in _GROUPS.intersection(item):
            error = item[key].get("error") if isinstance(item[key], dict) else None
            if isinstance(error, str) and error.strip():
                tally.errors.setdefault(f"{key}: {error.strip()[:200]}", origin)
    if used is not None:
        tally.facts["neuron.memory_used"] = (used, origin)


def _cores(cores: Mapping[str, Any], line: Line, origin: Origin, tally: _Tally) -> Iterator[Sample]:
    for name, values in list(cores.items())[:_MAX_CORES]:
        index = whole(name)
        busy = number(values.get("neuroncore_utilization")) if isinstance(values, dict) else None
        if index is None or busy is None:
            continue
        per = tally.per_device
        entity = f"nd{index // per}:nc{index % per}" if per else f"nc{index}"
        yield Sample("utilisation", busy, origin, unit="%", entity=entity, time=line.time)


def _ecc(devices: Sequence[Any], origin: Origin, tally: _Tally) -> None:
    counts = [whole(device.get(key)) for device in devices if isinstance(device, dict) for key in ECC if key in device]
    if counts:
        tally.facts["neuron.ecc_record"] = (sum(count for count in counts if count), origin)


def _host(item: Mapping[str, Any], origin: Origin, tally: _Tally) -> None:
    kind = item.get("instance_type")
    if isinstance(kind, str) and kind and "instance_id" in item:
        tally.facts["host.instance_type"] = (kind[:60], origin)
    total, used = whole(item.get("memory_total_bytes")), whole(item.get("memory_used_bytes"))
    if total:
        tally.facts["host.memory_total"] = (total, origin)
        if used is not None and used <= total:
            tally.facts["host.memory_available"] = (total - used, origin)
    swap = whole(item.get("swap_total_bytes"))
    if swap is not None and "swap_used_bytes" in item:
        tally.facts["host.swap_total"] = (swap, origin)


def _host_memory(item: Mapping[str, Any], line: Line, origin: Origin, tally: _Tally) -> Iterator[Sample]:
    """One Sample `host_memory` a record; `index` is seconds since the first one (records have no time of their own)."""
    used = whole(item.get("memory_used_bytes"))
    if used is None or "memory_total_bytes" not in item:
        return
    yield Sample("host_memory", float(used), origin, unit="bytes", time=line.time, index=tally.seconds)
    tally.seconds += min(max(number(item.get("period")) or 0.0, 0.0), 3600.0)


def _executions(item: Mapping[str, Any], origin: Origin, tally: _Tally) -> None:
    for group, names in (("execution_summary", FAILURES), ("error_summary", ERRORS)):
        counts = item.get(group)
        if not isinstance(counts, dict):
            continue
        for name in names:
            count = whole(counts.get(name))
            if count and count > 0:
                tally.failures[name] = tally.failures.get(name, 0) + count
                tally.failed_at = tally.failed_at or origin


FORMAT = LineFormat(
    name="neuron-monitor",
    kind="metrics",
    triggers=tuple(rf'"{key}"\s*:' for key in (*KEYS, "neuroncore_utilization", "model_shared_scratchpad")),
    parse=parse,
    before=40,
    after=2000,  # a pretty-printed record of 192 CPUs has 1,728 lines between two groups that are wanted
)
