"""One record of neuron-monitor, typed: only what is shown or judged is decoded, the rest is skipped.

No field is certain to be there: groups differ by release, by configuration, and the first record has hardly any.
"""

from __future__ import annotations

from typing import Any

from neuronwatch.source.live.codec import msgspec


class Core(msgspec.Struct, gc=False):
    """`flops` is called `effective_flops` by newer runtimes; both are a rate."""

    neuroncore_utilization: float | None = None
    flops: float | None = None
    effective_flops: float | None = None


class Cores(msgspec.Struct, gc=False):
    neuroncores_in_use: dict[str, Core] | None = None
    error: str | None = None


class Percentiles(msgspec.Struct, gc=False):
    """Seconds."""

    p50: float | None = None
    p99: float | None = None


class Latency(msgspec.Struct, gc=False):
    total_latency: Percentiles | None = None


class Executions(msgspec.Struct, gc=False):
    """Tallies of one period."""

    error_summary: dict[str, float | None] | None = None
    execution_summary: dict[str, float | None] | None = None
    latency_stats: Latency | None = None
    error: str | None = None


class CoreMemory(msgspec.Struct, gc=False):
    constants: float = 0.0
    model_code: float = 0.0
    model_shared_scratchpad: float = 0.0
    runtime_memory: float = 0.0
    tensors: float = 0.0


class Breakdown(msgspec.Struct, gc=False):
    neuroncore_memory_usage: dict[str, CoreMemory] | None = None


class Used(msgspec.Struct, gc=False):
    host: float | None = None
    neuron_device: float | None = None
    usage_breakdown: Breakdown | None = None


class Memory(msgspec.Struct, gc=False):
    neuron_runtime_used_bytes: Used | None = None
    error: str | None = None


class Share(msgspec.Struct, gc=False):
    user: float | None = None
    system: float | None = None


class Processor(msgspec.Struct, gc=False):
    vcpu_usage: Share | None = None
    error: str | None = None


class Report(msgspec.Struct, gc=False):
    neuroncore_counters: Cores | None = None
    execution_stats: Executions | None = None
    inference_stats: Executions | None = None
    """The name of execution_stats before tools 2.5."""
    memory_used: Memory | None = None
    neuron_runtime_vcpu_usage: Processor | None = None


class Runtime(msgspec.Struct, gc=False):
    pid: int | None = None
    neuron_runtime_tag: str | None = None
    error: str | None = None
    report: Report | None = None


class DeviceCounters(msgspec.Struct, gc=False):
    neuron_device_index: int | None = None
    mem_ecc_corrected: float | None = None
    mem_ecc_uncorrected: float | None = None
    sram_ecc_corrected: float | None = None
    sram_ecc_uncorrected: float | None = None


class HardwareCounters(msgspec.Struct, gc=False):
    neuron_devices: list[DeviceCounters] | None = None
    error: str | None = None


class System(msgspec.Struct, gc=False):
    neuron_hw_counters: HardwareCounters | None = None


class Hardware(msgspec.Struct, gc=False):
    neuron_device_count: int | None = None
    neuroncore_per_device_count: int | None = None
    """Logical cores."""
    logical_neuroncore_config: int | None = None
    error: str | None = None


class Record(msgspec.Struct, gc=False):
    neuron_runtime_data: list[Runtime] | None = None
    system_data: System | None = None
    neuron_hardware_info: Hardware | None = None


class NoRecord(ValueError):
    """Bytes that are no record of neuron-monitor. The text says why."""


_DECODER = msgspec.json.Decoder(Record)


def decode(line: bytes) -> tuple[Record, str]:
    """The record, and what of it had to be left out because it is of another type than it was ever known to be. Raises
    NoRecord for what is no JSON object with a group of neuron-monitor."""
    left_out = ""
    try:
        record = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        left_out = str(error)
        record = _salvaged(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoRecord(str(error)) from error
    if record.neuron_runtime_data is None and record.system_data is None and record.neuron_hardware_info is None:
        raise NoRecord("none of its groups is in it")
    return record, left_out


_UNTOLD = frozenset(("loaded_models", "usage_breakdown", "latency_stats", "vcpu_usage"))
"""Groups of numbers that no rule and no format looks at: three quarters of a record."""
_TALLIES = frozenset(("execution_summary", "error_summary"))
"""Of these only what is not 0 tells anything."""
_BUSY = "neuroncore_utilization"
"""Of a core that is all that is looked at."""


def told(line: bytes) -> bytes:
    """The record as the judge gets it: without the groups that nobody judges, unless they tell of an error, and without what says
    nothing (a twelfth is left). It is searched for the words of a thousand signatures, of which `error` and `hardware` are some."""
    try:
        document = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line
    system = document.get("system_data") if isinstance(document, dict) else None
    _leave_out(system)
    runtimes = document.get("neuron_runtime_data") if isinstance(document, dict) else None
    for runtime in runtimes if isinstance(runtimes, list) else ():
        report = runtime.get("report") if isinstance(runtime, dict) else None
        _without_nothing(runtime)
        for group in report.values() if isinstance(report, dict) else ():
            _leave_out(group)
            _without_nothing(group)
            _leave_out(group.get("neuron_runtime_used_bytes") if isinstance(group, dict) else None)
    return msgspec.json.encode(document)


def _leave_out(group: Any) -> None:
    for name in _UNTOLD.intersection(group) if isinstance(group, dict) else ():
        part = group[name]
        if not (isinstance(part, dict) and part.get("error")):
            del group[name]


def _without_nothing(group: Any) -> None:
    """Leaves out of a runtime or a group an error that is none, the period, tallies of 0, and of cores all but their use."""
    if not isinstance(group, dict):
        return
    if not group.get("error"):
        group.pop("error", None)
    group.pop("period", None)
    for name in _TALLIES.intersection(group):
        if isinstance(group[name], dict):
            group[name] = {key: value for key, value in group[name].items() if value != 0}
    cores = group.get("neuroncores_in_use")
    if isinstance(cores, dict):
        for number, core in cores.items():
            if isinstance(core, dict) and _BUSY in core and not core.get("error"):
                cores[number] = {_BUSY: core[_BUSY]}


def _salvaged(line: bytes) -> Record:
    """The groups that are as they must be, of a record in which something is not."""
    try:
        document = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoRecord(str(error)) from error
    if not isinstance(document, dict):
        raise NoRecord("it is no object")
    runtimes = document.get("neuron_runtime_data")
    kept = None if not isinstance(runtimes, list) else [item for item in map(_runtime, runtimes) if item is not None]
    return Record(kept, _typed(document.get("system_data"), System), _typed(document.get("neuron_hardware_info"), Hardware))


def _runtime(value: Any) -> Runtime | None:
    if not isinstance(value, dict):
        return None
    groups = value.get("report")
    report = Report()
    if isinstance(groups, dict):
        for field in msgspec.structs.fields(Report):
            setattr(report, field.name, _typed(groups.get(field.name), field.type))
    plain = _typed({key: item for key, item in value.items() if key != "report"}, Runtime)
    found = plain if isinstance(plain, Runtime) else Runtime()
    found.report = report
    return found


def _typed(value: Any, kind: Any) -> Any:
    """The value as that type, None when it is of another."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None
