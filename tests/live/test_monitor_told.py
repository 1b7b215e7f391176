"""A record of neuron-monitor as the judge gets it says the same as the whole record."""

from __future__ import annotations

import json

from neuronwatch.parse.api import Line
from neuronwatch.parse.neuron_monitor import parse
from neuronwatch.source.live.monitor_record import told


def record(cores: int = 64) -> dict[str, object]:
    breakdown = {"neuroncore_memory_usage": {str(core): {"tensors": core, "constants": 1} for core in range(cores)}}
    used = {"host": 5, "neuron_device": 7, "usage_breakdown": breakdown}
    report = {
        "neuroncore_counters": {
            "neuroncores_in_use": {str(core): {"neuroncore_utilization": 50.0} for core in range(cores)},
            "error": "",
        },
        "execution_stats": {
            "execution_summary": {"completed": 3, "timed_out": 2},
            "error_summary": {"hardware": 1},
            "latency_stats": {"total_latency": {"p50": 0.1}},
            "error": "",
        },
        "memory_used": {"neuron_runtime_used_bytes": used, "loaded_models": [{"name": "/x.neff"}] * 40, "error": "partly"},
        "neuron_runtime_vcpu_usage": {"vcpu_usage": {"user": 1.0, "system": 1.0}, "error": ""},
    }
    system = {
        "vcpu_usage": {"usage_data": {str(core): {"user": 1.0} for core in range(192)}, "error": "no /proc/stat"},
        "memory_info": {
            "memory_total_bytes": 100,
            "memory_used_bytes": 40,
            "swap_total_bytes": 0,
            "swap_used_bytes": 0,
            "error": "",
        },
        "neuron_hw_counters": {"neuron_devices": [{"neuron_device_index": 0, "mem_ecc_uncorrected": 1}], "error": ""},
    }
    hardware = {"neuron_device_count": 16, "neuroncore_per_device_count": 8, "error": ""}
    idle = {
        "neuroncore_counters": {
            "period": 1.0, "error": "",
            "neuroncores_in_use": {str(cores): {"neuroncore_utilization": 0.0, "flops": 5, "v3d": {"nc_v3.0": {"x": 1}}}},
        },
        "execution_stats": {
            "period": 1.0, "error": "",
            "execution_summary": {"completed": 0, "timed_out": 0}, "error_summary": {"generic": 0, "hardware": 0},
        },
        "memory_used": {"period": 1.0, "neuron_runtime_used_bytes": {"host": 0, "neuron_device": 0}, "error": "none of it"},
    }  # fmt: skip
    runtimes = [
        {"pid": 7, "neuron_runtime_tag": "7", "error": "", "report": report},
        {"pid": 8, "neuron_runtime_tag": "8", "error": "", "report": idle},
    ]
    return {"neuron_runtime_data": runtimes, "system_data": system, "neuron_hardware_info": hardware}


def said(text: str) -> list[object]:
    """What the format reads, without the lines themselves."""
    found = parse([Line("host:neuron-monitor", 1, text, text)])
    return [
        (type(item).__name__, getattr(item, "name", ""), getattr(item, "value", None), getattr(item, "entity", ""))
        for item in found
    ]


def test_the_judge_reads_the_same() -> None:
    whole = json.dumps(record()).encode()
    less = told(whole)
    assert len(less) < len(whole) * 0.7
    assert said(less.decode()) == said(whole.decode())
    assert b"no /proc/stat" in less and b"none of it" in less  # a group that tells of an error stays
    assert json.loads(less)["neuron_runtime_data"][1] == {
        "pid": 8, "neuron_runtime_tag": "8",
        "report": {
            "neuroncore_counters": {"neuroncores_in_use": {"64": {"neuroncore_utilization": 0.0}}},
            "execution_stats": {"execution_summary": {}, "error_summary": {}},
            "memory_used": {"neuron_runtime_used_bytes": {"host": 0, "neuron_device": 0}, "error": "none of it"},
        },
    }  # fmt: skip


def test_what_is_no_record_stays_as_it_is() -> None:
    assert told(b"{") == b"{"
    for text in (b"[]", b'"x"', b'{"system_data": 3, "neuron_runtime_data": [4, {"report": {"memory_used": null}}]}'):
        assert json.loads(told(text)) == json.loads(text)


def test_a_text_that_is_told_again_reads_the_same() -> None:
    """The last hours are told again with each new record: they are not decoded again, and say what they said."""
    from neuronwatch.parse import neuron_monitor

    texts = [json.dumps(record(cores)) for cores in (64, 3, 64, 70)]
    texts.insert(2, '{"neuron_hardware_info": {"neuron_device_count": 2, "neuroncore_per_device_count": 2}}')
    texts.insert(4, json.dumps(record(64))[:3000])  # cut
    lines = [Line("host:neuron-monitor", number, text, text) for number, text in enumerate(texts, 1)]
    grown = [list(parse(lines[:count])) for count in range(1, len(lines) + 1)]
    assert neuron_monitor._KNOWN
    for count, found in enumerate(grown, 1):
        neuron_monitor._KNOWN.clear()
        assert list(parse(lines[:count])) == found
    again = [line._replace(path="other", number=line.number + 7) for line in lines if line.number is not None]
    assert {item.origin.path for item in parse(again)} == {"other"}
