"""The processes of interest, for the API: from the listing that the judge has, and the newest readings of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from neuronwatch.daemon import status

if TYPE_CHECKING:
    from neuronwatch.daemon.intake import Intake
    from neuronwatch.daemon.service import Service
    from neuronwatch.store.ring import Point

HOLDERS = "host:/proc/*/fd"
LISTING = "host:ps -eo pid,ppid,stat,rss,args"
METRICS = {
    "process.cpu": "cpu", "process.rss": "rss", "process.threads": "threads", "process.memory.device": "device_memory",
    "process.latency.p50": "p50", "process.latency.p99": "p99", "process.executions": "executions", "process.failures": "failures",
}  # fmt: skip
_HOLDER = re.compile(r"^.{1,40}?\s(\d{1,10}) \? .* /dev/neuron(\d{1,5})$")
_ROW = re.compile(r"^\s*(\d{1,10})\s+(\d{1,10})\s+(\S{1,8})\s+\d{1,15}\s(.*)$")
MOST = 600


class Newest(Protocol):
    """The newest readings: entity to a point with `time` and `value`."""

    def latest(self, metric: str) -> Mapping[str, Point]: ...


def processes(service: Service) -> list[dict[str, Any]]:
    """Those that have readings, the largest on the devices first. `null` is not known."""
    found = rows(service.memory.ring, service.intake, service.loop.clock.now().wall)
    details = service.details.look((row["pid"], row["command"]) for row in found)
    per_device = cores_per_device(service)
    for row in found:
        detail = details.get(row["pid"])
        row["owner"] = detail.owner if detail else None
        row["cores"] = entities(detail.cores, per_device) if detail and row["devices"] else None
        row["cores_asked"] = detail.asked if detail else None
        row["tag"] = status.hidden(detail.tag) if detail and detail.tag else None
    return found[:MOST]


def rows(newest: Newest, intake: Intake, now: float) -> list[dict[str, Any]]:
    """What readings and listings tell; owner and cores are for who can ask the host itself."""
    known: dict[int, dict[str, Any]] = {}
    for metric, name in METRICS.items():
        for entity, point in newest.latest(metric).items():
            if entity.startswith("pid") and entity[3:].isdecimal():
                row = known.setdefault(int(entity[3:]), {"pid": int(entity[3:]), "age": 0.0})
                row[name] = point.value
                row["age"] = round(max(row["age"], now - point.time), 3)
    listed = _listed(intake)
    alive = [{**row, **listed.get(pid, {"command": None, "parent": None, "state": None})} for pid, row in known.items()
             if not listed or pid in listed]  # fmt: skip
    held = _held(intake)
    for row in alive:
        row["devices"] = held.get(row["pid"], []) if held is not None else None
        row |= dict.fromkeys(("owner", "cores", "cores_asked", "tag"))
    alive.sort(key=lambda row: (-(row.get("device_memory") or 0.0), -(row.get("rss") or 0.0), row["pid"]))
    return alive


def cores_per_device(service: Service) -> int | None:
    facts = service.judged.diagnosis.facts if service.judged else {}
    for name in ("neuron.cores_per_device", "instance.cores_per_device"):
        value = facts.get(name)
        if isinstance(value, int) and 0 < value <= 64:
            return value
    return None


def entities(cores: tuple[int, ...] | None, per_device: int | None) -> list[str] | None:
    """`nd0:nc3` of the numbers that the runtime gives cores. None: not known."""
    if cores is None or per_device is None:
        return None
    return [f"nd{core // per_device}:nc{core % per_device}" for core in cores]


def _listed(intake: Intake) -> dict[int, dict[str, Any]]:
    """Pid to what the last listing says of it."""
    text = intake.whole(LISTING)
    found: dict[int, dict[str, Any]] = {}
    for line in text.decode("utf-8", "replace").splitlines() if text else ():
        row = _ROW.match(line)
        if row:
            pid, parent, state, command = row.groups()
            found[int(pid)] = {"parent": int(parent), "state": state, "command": status.hidden(command[:1000])}
    return found


def _held(intake: Intake) -> dict[int, list[int]] | None:
    """Pid to the devices that it has open. None: who holds what is not known."""
    text = intake.whole(HOLDERS)
    if text is None:
        return None
    found: dict[int, set[int]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        row = _HOLDER.match(line)
        if row:
            found.setdefault(int(row.group(1)), set()).add(int(row.group(2)))
    return {pid: sorted(devices) for pid, devices in found.items()}
