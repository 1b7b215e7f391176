"""`neuron-monitor`: one JSON document a line, pretty-printed ones, fragments with a few groups, and cut records.

Groups are found by their keys at any depth, so that a record of any release (or only a part of one) is read. Percentages
are 0 to 100, sizes bytes. An idle host has no utilisation at all: that is unknown, not 0. Execution counters are tallies
of one period; they are summed over the records of one call.
"""

from __future__ import annotations

from array import array
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


@dataclass
class _Digest:
    """What one document says, without where: `hardware` and `facts` by name, use of the host's memory with its period."""

    hardware: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    busy: array[float] = field(default_factory=lambda: array("d"))
    """Numbers of cores and their use in turn."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)


_LARGE, _MOST = 4096, 512
_KNOWN: dict[tuple[int, int], _Digest] = {}
"""What large records say that were one line each, by hash and length: a log of records that is followed is told again and again
with its last ones, and only its newest record is new. A record that comes alone does not come again, and is not kept here."""


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts of the newest record, a Sample `utilisation` (entity `nd0:nc1`, or `nc1` where the number of cores of a
    device is unknown) for each core and a Sample `host_memory` for each record, and an Issue for each cut record."""
    tally = _Tally()
    found, rest = _documents(lines)
    for digest, line in found:
        _told_hardware(digest, line.origin, tally)
    for digest, line in found:
        yield from _told(digest, line, tally)
    if any(_has_key(line.body) for line in rest):
        yield from _fragments(rest, tally)
    for name, (value, origin) in tally.facts.items():
        yield Fact(name, value, origin)
    if tally.failed_at is not None:
        counts = tuple(f"{name} {count}" for name, count in tally.failures.items())
        yield Fact("neuron.exec_errors", counts, tally.failed_at)
    if tally.errors:
        yield Fact("monitor.errors", tuple(tally.errors), next(iter(tally.errors.values())))


def _documents(lines: Sequence[Line]) -> tuple[list[tuple[_Digest, Line]], list[Line]]:
    """What the documents say, in their order, and the lines that are in none."""
    known = {index: _KNOWN[key] for index, line in enumerate(lines) if (key := _key(line.body)) in _KNOWN}
    found = {index: (digest, lines[index]) for index, digest in known.items()}
    others = [index for index in range(len(lines)) if index not in known]
    read: set[int] = set()
    for document in json_documents([lines[index] for index in others]):
        if not _mentions(document.value):
            continue
        read.update(document.span)
        digest = _digest(document.value)
        first = others[min(document.span)]
        found[first] = (digest, document.line)
        if len(lines) > 1 and len(document.span) == 1 and len(document.line.body) > _LARGE:
            while len(_KNOWN) >= _MOST:
                del _KNOWN[next(iter(_KNOWN))]
            _KNOWN[_key(document.line.body)] = digest
    rest = [lines[index] for number, index in enumerate(others) if number not in read]
    return [found[index] for index in sorted(found)], rest


def _key(body: str) -> tuple[int, int]:
    return (hash(body), len(body)) if len(body) > _LARGE else (0, 0)


def _told_hardware(digest: _Digest, origin: Origin, tally: _Tally) -> None:
    tally.facts.update((name, (value, origin)) for name, value in digest.hardware.items())
    tally.per_device = digest.hardware.get("neuron.cores_per_device") or tally.per_device


def _told(digest: _Digest, line: Line, tally: _Tally) -> Iterator[Sample]:
    """A Sample `host_memory` has as `index` the seconds since the first record (records have no time of their own)."""
    origin, per = line.origin, tally.per_device
    for index, busy in zip(map(int, digest.busy[::2]), digest.busy[1::2], strict=True):
        entity = f"nd{index // per}:nc{index % per}" if per else f"nc{index}"
        yield Sample("utilisation", busy, origin, unit="%", entity=entity, time=line.time)
    for used, period in digest.memory:
        yield Sample("host_memory", used, origin, unit="bytes", time=line.time, index=tally.seconds)
        tally.seconds += period
    tally.facts.update((name, (value, origin)) for name, value in digest.facts.items())
    for name, count in digest.failures.items():
        tally.failures[name] = tally.failures.get(name, 0) + count
        tally.failed_at = tally.failed_at or origin
    for name in digest.errors:
        tally.errors.setdefault(name, origin)


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
        digest = _digest(outer)
        _told_hardware(digest, line.origin, tally)
        yield from _told(digest, line, tally)


def _inside(value: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    ((key, group),) = value.items()
    ((_, holder),) = other.items()
    return any(item.get(key) == group for item in walk(holder, 6))


def _digest(value: Any) -> _Digest:
    digest = _Digest()
    for item in walk(value, 4):
        info = item.get("neuron_hardware_info")
        if isinstance(info, dict):
            _hardware(info, digest.hardware)
    used: int | None = None
    for item in walk(value):
        if _WANTED.isdisjoint(item):  # most are the use of one processor or one core
            continue
        cores = item.get("neuroncores_in_use")
        if isinstance(cores, dict):
            digest.busy.extend(_cores(cores))
        devices = item.get("neuron_devices")
        if isinstance(devices, list):
            _ecc(devices, digest)
        memory = item.get("neuron_runtime_used_bytes")
        if isinstance(memory, dict):
            on_device = whole(memory.get("neuron_device"))
            used = used if on_device is None else (used or 0) + on_device
        _host(item, digest)
        _executions(item, digest)
        for key in _GROUPS.intersection(item):
            error = item[key].get("error") if isinstance(item[key], dict) else None
            if isinstance(error, str) and error.strip():
                digest.errors.setdefault(f"{key}: {error.strip()[:200]}")
    if used is not None:
        digest.facts["neuron.memory_used"] = used
    return digest


def _hardware(info: Mapping[str, Any], found: dict[str, Any]) -> None:
    names = {
        "neuron.devices": "neuron_device_count",
        "neuron.cores_per_device": "neuroncore_per_device_count",
        "neuron.device_memory": "neuron_device_memory_size",
        "neuron.lnc": "logical_neuroncore_config",
    }
    for name, key in names.items():
        count = whole(info.get(key))
        if count:
            found[name] = count
    chip = _CHIPS.get(str(info.get("neuron_device_type")))
    if chip:
        found["neuron.architecture"] = chip


def _cores(cores: Mapping[str, Any]) -> Iterator[float]:
    for name, values in list(cores.items())[:_MAX_CORES]:
        index = whole(name)
        busy = number(values.get("neuroncore_utilization")) if isinstance(values, dict) else None
        if index is not None and busy is not None:
            yield from (index, busy)


def _ecc(devices: Sequence[Any], digest: _Digest) -> None:
    counts = [whole(device.get(key)) for device in devices if isinstance(device, dict) for key in ECC if key in device]
    if counts:
        digest.facts["neuron.ecc_record"] = sum(count for count in counts if count)


def _host(item: Mapping[str, Any], digest: _Digest) -> None:
    kind = item.get("instance_type")
    if isinstance(kind, str) and kind and "instance_id" in item:
        digest.facts["host.instance_type"] = kind[:60]
    total, used = whole(item.get("memory_total_bytes")), whole(item.get("memory_used_bytes"))
    if total:
        digest.facts["host.memory_total"] = total
        if used is not None and used <= total:
            digest.facts["host.memory_available"] = total - used
    swap = whole(item.get("swap_total_bytes"))
    if swap is not None and "swap_used_bytes" in item:
        digest.facts["host.swap_total"] = swap
    if used is not None and "memory_total_bytes" in item:
        digest.memory.append((float(used), min(max(number(item.get("period")) or 0.0, 0.0), 3600.0)))


def _executions(item: Mapping[str, Any], digest: _Digest) -> None:
    for group, names in (("execution_summary", FAILURES), ("error_summary", ERRORS)):
        counts = item.get(group)
        if not isinstance(counts, dict):
            continue
        for name in names:
            count = whole(counts.get(name))
            if count and count > 0:
                digest.failures[name] = digest.failures.get(name, 0) + count


FORMAT = LineFormat(
    name="neuron-monitor",
    kind="metrics",
    triggers=tuple(rf'"{key}"\s*:' for key in (*KEYS, "neuroncore_utilization", "model_shared_scratchpad")),
    parse=parse,
    before=40,
    after=2000,  # a pretty-printed record of 192 CPUs has 1,728 lines between two groups that are wanted
)
