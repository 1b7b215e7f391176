"""Pictures for the tests of the dashboard, as a daemon would have told them."""

from __future__ import annotations

from typing import Any

from neuronwatch.tui.view.picture import Link, Picture

NOW = 1_780_000_000.0


def source(name: str, state: str = "fresh", reason: str = "", budget: float = 5.0, mandatory: bool = False) -> dict[str, Any]:
    last = None if state == "missing" else NOW - 1.0
    return {"name": name, "state": state, "reason": reason, "since": NOW - 600, "last": last, "age": 1.0, "budget": budget,
            "mandatory": mandatory}  # fmt: skip


def incident(
    fault: str, severity: str = "error", entities: tuple[str, ...] = (), state: str = "open", number: int = 1
) -> dict[str, Any]:
    finding = {"rule": fault, "fault": fault, "role": "cause", "severity": severity, "confidence": 0.9, "title": f"title of {fault}",
               "cause": "why", "fix": ["do this"], "confirm": ["look there"], "evidence": [{"path": "host:/x.log", "line": 3, "text": "line"}],
               "entities": list(entities), "action": None}  # fmt: skip
    return {"id": f"20260501T000000-{number}", "fault": fault, "severity": severity, "state": state, "opened": NOW - 90, "updated": NOW - 30,
            "resolved": None, "root": fault, "title": finding["title"], "findings": [finding],
            "conditions": [{"key": fault, "state": "true", "since": NOW - 90, "reason": "", "ends": "when it ends"}],
            "revisions": [{"time": NOW - 90, "what": "opened"}]}  # fmt: skip


def status(
    verdict: str = "healthy", reasons: tuple[str, ...] = (), incidents: tuple[dict[str, Any], ...] = (), **more: Any
) -> dict[str, Any]:
    return {"schema": "neuronwatch.status/1", "verdict": verdict, "reasons": list(reasons), "time": NOW, "daemon": {"pid": 1, "version": "0",
            "started": NOW - 700, "rules": 3, "reload": "", **{name: {"state": "ok", "reason": ""} for name in ("history", "journal", "conditions", "directory")}}, "incidents": list(incidents), "conditions": [],
            "sources": [source("sysfs", mandatory=True), source("neuron-monitor"), source("host")], "unknown": []} | more  # fmt: skip


def facts(devices: int = 2, cores: int = 4) -> dict[str, Any]:
    return {"host.instance_type": "trn2.48xlarge", "driver.version": "2.24.7.0", "compat.driver_too_old": False, "runtime.version": "2.28.23.0",
            "instance.devices": devices, "neuron.cores_per_device": cores, "neuron.device_memory": 96 * 2**30}  # fmt: skip


def samples(
    devices: int = 2, cores: int = 4, utilization: float | None = 75.0, used: float = 12e9, time: float = NOW - 1
) -> list[dict[str, Any]]:
    names = [f"nd{device}:nc{core}" for device in range(devices) for core in range(cores)]
    monitor = {"core.utilization": {"entities": names, "values": [utilization] * len(names)}}
    sysfs = {"core.memory.used": {"entities": names, "values": [used] * len(names)}}
    sysfs |= {f"core.memory.{part}": {"entities": names, "values": [used / 5] * len(names)}
              for part in ("tensors", "constants", "model_code", "scratchpad", "runtime")}  # fmt: skip
    host = {"host.cpu": {"entities": [""], "values": [34.0]}, "host.memory.used": {"entities": [""], "values": [4e11]},
            "host.memory.total": {"entities": [""], "values": [2e12]}}  # fmt: skip
    return [
        {"source": name, "time": time, "metrics": metrics}
        for name, metrics in (("neuron-monitor", monitor), ("sysfs", sysfs), ("host", host))
    ]


def picture(document: dict[str, Any] | None = None, devices: int = 2, cores: int = 4, **more: Any) -> Picture:
    """A host under load, or as `document` and the arguments of `samples` say."""
    found = Picture()
    found.apply("time", NOW)
    found.apply("status", document or status())
    found.apply("facts", facts(devices, cores))
    for item in samples(devices, cores, **more):
        found.apply("samples", item)
    found.apply("link", Link("live", NOW))
    return found
