"""Whole hosts for snapshots: healthy, faulty, empty, blind, lost. Always the same bytes: no clock, no chance."""

from __future__ import annotations

import math
from typing import Any

from tui import pictures
from tui.pictures import NOW

from neuronwatch.tui.view.picture import TRAILED, Link, Picture

DEVICES, CORES = 16, 8
PARTS = {"tensors": 0.55, "constants": 0.1, "model_code": 0.05, "scratchpad": 0.2, "runtime": 0.1}


def healthy(devices: int = DEVICES, cores: int = CORES) -> Picture:
    """A training run on most devices, a server on one, two devices free, one held and idle."""
    return _host(pictures.status(), devices, cores)


def faulty(devices: int = DEVICES, cores: int = CORES) -> Picture:
    incidents = (
        _incident("hw.uncorrectable-memory", "critical", ("nd3",), 1, "Uncorrectable memory error on device 3"),
        _incident("data.num-proc-oversubscription", "warning", (), 2, "More data workers than processors"),
    )
    found = _host(
        pictures.status("fault", ("hw.uncorrectable-memory on nd3", "data.num-proc-oversubscription"), incidents), devices, cores
    )
    found.apply("incidents", [*incidents, {**pictures.incident("env.disk-full", "error", (), "resolved", 3), "resolved": NOW - 30}])
    text = "\n".join(f"[  {number}.0] neuron: nd3 {'SRAM' if number % 2 else 'HBM'} event {number}" for number in range(40, 60))
    path = incidents[0]["findings"][0]["evidence"][0]["path"]
    line = incidents[0]["findings"][0]["evidence"][0]["text"]
    found.apply(
        "evidence",
        {"incidents": incidents[:1], "files": [{"path": path, "text": f"{text}\n{line}\n[  61.0] neuron: nd3 reset asked for\n"}]},
    )
    return found


def asking() -> Picture:
    """A host whose job may not be mended without a person."""
    found = faulty()
    found.apply("proposals", [PROPOSAL])
    return found


def empty() -> Picture:
    """A host without devices, and with nothing to tell."""
    found = Picture()
    found.apply("time", NOW)
    found.apply("status", pictures.status())
    found.apply("facts", {"host.kernel": "6.8.0-1021-aws"})
    found.apply("link", Link("live", NOW))
    return found


def blind() -> Picture:
    """The daemon lives and its sources do not."""
    document = pictures.status("unknown", ("source sysfs is stale: the tree did not answer for 40 s", "nothing has been read"))
    document["sources"] = [
        pictures.source("sysfs", "stale", "the tree did not answer for 40 s", mandatory=True),
        pictures.source("neuron-monitor", "failed", "neuron-monitor: exit status 1"),
        pictures.source("host", "missing", "/proc is not readable"),
    ]
    found = _host(document, DEVICES, CORES, age=45.0)
    found.apply(
        "rules",
        [
            {**rule, "state": "unknown" if rule["state"] == "true" else "blind", "reason": "source sysfs is stale"}
            for rule in _rules()
        ],
    )
    return found


def lost() -> Picture:
    """The daemon went away under load."""
    found = healthy()
    found.apply("time", NOW + 12)
    found.apply("link", Link("lost", NOW + 2, "the daemon at /run/neuronwatch/neuronwatch.sock closed the connection"))
    return found


PROPOSAL = {
    "id": "0a1b2c3d", "job": "qwen3-8b", "fault": "train.batch-size-device-oom", "action": "batch-size",
    "words": "halve the batch of each device and double the accumulation: the global batch stays 256",
    "preview": ["--per_device_train_batch_size 8 -> 4", "--gradient_accumulation_steps 4 -> 8"],
    "run": 3, "since": NOW - 420.0, "expires": NOW + 85_000.0,
}  # fmt: skip
CASES = {"healthy": healthy, "faulty": faulty, "asking": asking, "empty": empty, "blind": blind, "lost": lost}


def utilization(turn: float, device: int, core: int) -> float:
    """Percent of a core: a wave that runs through the devices."""
    return min(100.0, max(0.0, 72.0 + 26.0 * math.sin(turn / 5 + device / 2.5 + core / 6)))


def readings(turn: float, time: float, devices: int = DEVICES, cores: int = CORES) -> list[dict[str, Any]]:
    """What the sources tell at a moment. The last but one device is free, the last one held and idle."""
    names = [f"nd{device}:nc{core}" for device in range(devices) for core in range(cores)]
    share: list[float | None] = []
    used: list[float] = []
    for device in range(devices):
        for core in range(cores):
            free, idle = device == devices - 2, device == devices - 1
            share.append(None if free else 0.0 if idle else round(utilization(turn, device, core), 1))
            used.append(0.0 if free else 3e9 if idle else round(9e9 + 1.5e9 * math.sin(device + core / 3)))
    memory = {
        "core.memory.used": used,
        **{f"core.memory.{part}": [round(value * weight) for value in used] for part, weight in PARTS.items()},
    }
    host = {"host.cpu": 41.0 + 6 * math.sin(turn / 3), "host.memory.used": 6.1e11, "host.memory.total": 2.1e12, "host.disk.used": 63.0, "host.load": 48.2,
            "host.network.receive": 3.1e8 + 2e8 * math.sin(turn / 2), "host.network.transmit": 2.4e8 + 1e8 * math.cos(turn / 2)}  # fmt: skip
    return [
        {"source": "neuron-monitor", "time": time, "metrics": {"core.utilization": {"entities": names, "values": share}}},
        {"source": "sysfs", "time": time, "metrics": {name: {"entities": names, "values": values} for name, values in memory.items()}},
        {"source": "host", "time": time, "metrics": {name: {"entities": [""], "values": [round(value, 1)]} for name, value in host.items()}},
    ]  # fmt: skip


def jobs(turn: float = 0.0) -> list[dict[str, Any]]:
    """A training run and a server, as the daemon tells them."""
    step = 1840 + turn

    def curve(value: Any, least: int = 3) -> list[list[float]]:
        return [[place, round(value(place), least), NOW - 2 * (step - place)] for place in range(int(step) - 120, int(step))]

    curves = {"loss": curve(lambda at: 1.4 + 3 * math.exp(-at / 900) + 0.02 * math.sin(at)), "grad_norm": curve(lambda at: 0.6 + 0.1 * math.sin(at / 3)),
              "step_time": curve(lambda at: 2.05 + 0.05 * math.sin(at / 7)), "tokens_per_s": curve(lambda at: 51200 + 900 * math.sin(at / 7), 0)}  # fmt: skip
    queue = {
        "running": curve(lambda at: 24 + 6 * math.sin(at / 5), 0),
        "waiting": curve(lambda at: max(0.0, 3 * math.sin(at / 9)), 0),
        "kv_usage": curve(lambda at: 61 + 9 * math.sin(at / 11), 1),
    }
    return [
        {"id": "host:/var/log/train/qwen3-8b.log", "name": "qwen3-8b", "kind": "train", "phase": "step", "age": 1.2, "step": step, "epoch": None,
         "max_steps": 5000.0, "ranks": 32, "curves": curves, **{name: points[-1][1] for name, points in curves.items()}},
        {"id": "host:/var/log/vllm/server.log", "name": "vllm", "kind": "serve", "phase": "serve", "age": 3.0, "step": None, "epoch": None,
         "max_steps": None, "ranks": 0, "curves": queue, **{name: points[-1][1] for name, points in queue.items()}},
    ]  # fmt: skip


def _host(document: dict[str, Any], devices: int, cores: int, age: float = 1.0) -> Picture:
    found = Picture()
    found.apply("time", NOW)
    found.apply("status", document)
    found.apply("facts", {**pictures.facts(devices, cores), "compat.runtime_too_old": False, "sdk.release": "2.26.1", "compat.sdk_skew": False,
                          "host.kernel": "6.8.0-1021-aws", "compat.kernel_unsupported": False})  # fmt: skip
    for turn in range(-60, 1):
        for item in readings(turn, NOW - age + turn, devices, cores):
            if turn == 0 or any(name in TRAILED for name in item["metrics"]):
                found.apply("samples", item)
    found.apply("jobs", jobs())
    found.apply("processes", _processes(devices))
    found.apply("rules", _rules())
    found.apply("link", Link("live", NOW))
    return found


def _processes(devices: int) -> list[dict[str, Any]]:
    command = "torchrun --nproc_per_node 32 train.py --model Qwen3-8B --bf16 --seq-len 4096"
    return [
        {"pid": 4100 + rank, "age": 1.0, "cpu": 96.0 - rank, "rss": 2.1e10 + rank * 1e8, "threads": 61, "device_memory": 9e10, "p50": None, "p99": None,
         "executions": 410.0 + rank, "failures": 0.0, "command": command, "parent": 4000, "state": "Sl", "devices": [rank]}
        for rank in range(min(8, devices))
    ]  # fmt: skip


def _rules() -> list[dict[str, Any]]:
    told = (
        ("hw.uncorrectable-memory", "hw", "critical", "true", "", NOW - 90), ("data.num-proc-oversubscription", "data", "warning", "true", "", NOW - 300),
        ("env.disk-full", "env", "error", "over", "no longer shown by its sources", NOW - 900),
        ("env.driver-too-old-for-runtime", "env", "error", "held back", "not this fault: the driver is newer", 0.0),
        ("train.loss-diverged", "train", "error", "never seen", "", 0.0), ("serve.single-core-used", "serve", "warning", "blind", "nobody tells serve.replicas", 0.0),
        ("runtime.exec-timeout", "runtime", "critical", "never seen", "", 0.0), ("compile.stale-lock", "compile", "warning", "partly seen", "what was seen is not enough", 0.0),
    )  # fmt: skip
    return [
        {"id": name, "fault": name, "title": f"What {name.partition('.')[2].replace('-', ' ')} means", "role": "cause", "severity": severity, "stage": stage,
         "signatures": ["line"], "joins": ["counter"], "ends": "exit", "path": f"{stage}/{name}.toml", "state": state, "reason": reason, "since": since}
        for name, stage, severity, state, reason, since in told
    ]  # fmt: skip


def _incident(fault: str, severity: str, entities: tuple[str, ...], number: int, title: str) -> dict[str, Any]:
    found = pictures.incident(fault, severity, entities, number=number)
    finding = found["findings"][0]
    finding |= {"title": title, "cause": "The memory of a device returned data that its error code could not mend; every job on it computes with wrong numbers or ends.",
                "fix": ["stop the jobs on the device: `neuronwatch status` names them", "run `sudo rmmod neuron; sudo modprobe neuron` once",
                        "when it comes back, stop and start the instance: AWS replaces the host"],
                "confirm": ["`neuron-ls` lists all devices, and the counter stays at 0"],
                "evidence": [{"path": "host:dmesg", "line": 61, "text": "[  60.5] neuron: nd3 mem_ecc_uncorrected: 3"}]}  # fmt: skip
    symptom = {
        **finding,
        "rule": "symptom.device-counters",
        "fault": "",
        "role": "symptom",
        "severity": "warning",
        "title": "Error counters of the devices are not zero",
    }
    condition = {
        "key": "symptom.device-counters",
        "state": "true",
        "since": NOW - 80,
        "reason": "",
        "ends": "when the facts say so",
    }
    found |= {"title": title, "findings": [finding, symptom], "conditions": [*found["conditions"], condition],
              "revisions": [{"time": NOW - 90, "what": "opened"}, {"time": NOW - 80, "what": "joined by symptom.device-counters"}]}  # fmt: skip
    return found
