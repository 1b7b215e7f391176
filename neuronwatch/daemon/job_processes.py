"""The processes behind a job's log: those whose stdout or stderr it is, what they hold, and whether a compiler of theirs lives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

WINDOW = 900.0
"""Seconds of history of the cores of one job."""
POINTS = 180
DEEPEST = 16
_COMPILER = re.compile(r"neuronx-cc|neuron-cc|walrus_driver|hlo2penguin|hlo-opt|tensorizer")
_SERVER = re.compile(r"vllm|text-generation|tritonserver|api_server|\bserve\b|djl")
_STALE = 30.0
"""Seconds after which a utilisation says nothing of now."""


class Runner(NamedTuple):
    """What runs and writes one log. `holds`: it has a device open; `stdout`: the log is the stdout of one that does; `ended`: what
    wrote is gone. None is not known."""

    pids: list[int]
    kind: str
    command: str
    owner: str | None
    cores: list[str] | None
    utilization: float | None
    device_memory: float | None
    p50: float | None
    p99: float | None
    holds: bool
    stdout: bool
    compiles: bool
    ended: bool


def runners(service: Service, rows: list[dict[str, Any]]) -> dict[str, Runner]:
    """Path of a followed text (`host:/...`) to what writes there. `rows`: the processes as the API tells them."""
    details = service.details.known()
    by_pid = {row["pid"]: row for row in rows}
    found: dict[str, list[dict[str, Any]]] = {}
    first: set[str] = set()
    for pid, detail in details.items():
        row = by_pid.get(pid)
        if row is not None:
            for place, name in enumerate(detail.outputs):
                found.setdefault(name, []).append(row)
                if place == 0 and row.get("devices"):
                    first.add(name)
    compiling = _compiling(by_pid)
    usage = _usage(service)
    result = {f"host:{name}": _runner(writers, usage, name in first, compiling) for name, writers in found.items()}
    if service.details.complete:
        for name in service.details.beside.keys() - found.keys():
            result[f"host:{name}"] = Runner([], "", "", None, None, None, None, None, None, False, False, False, True)
    return result


def _runner(writers: list[dict[str, Any]], usage: Mapping[str, float], stdout: bool, compiling: set[int]) -> Runner:
    pids = sorted(row["pid"] for row in writers)
    holders = [row for row in writers if row.get("devices")]
    commands = [row["command"] for row in (holders or writers) if row.get("command")]
    command = commands[0] if commands else ""
    cores = _cores(holders)
    busy = [usage[core] for core in cores or () if core in usage]
    owner = next((row["owner"] for row in writers if row.get("owner")), None)
    mean = sum(busy) / len(busy) if busy else None
    memory, p50, p99 = _sum(holders, "device_memory"), _worst(holders, "p50"), _worst(holders, "p99")
    kind, compiles = "serve" if _SERVER.search(command) else "train", bool(compiling.intersection(pids))
    return Runner(pids, kind, command, owner, cores, mean, memory, p50, p99, bool(holders), stdout, compiles, False)


def _cores(holders: list[dict[str, Any]]) -> list[str] | None:
    """All cores of the processes; None: of one of them they are not known."""
    if not holders or any(row.get("cores") is None for row in holders):
        return None
    return list(dict.fromkeys(core for row in holders for core in row["cores"]))


def _sum(rows: list[dict[str, Any]], name: str) -> float | None:
    found = [row[name] for row in rows if row.get(name) is not None]
    return sum(found) if found and len(found) == len(rows) else None


def _worst(rows: list[dict[str, Any]], name: str) -> float | None:
    return max((row[name] for row in rows if row.get(name) is not None), default=None)


def _compiling(by_pid: Mapping[int, dict[str, Any]]) -> set[int]:
    """The processes that have a compiler below them."""
    found: set[int] = set()
    for row in by_pid.values():
        if (
            row.get("command")
            and _COMPILER.search(row["command"].partition(" --")[0][:300])
            and (row.get("state") or "")[:1] not in "ZX"
        ):
            at, steps = row.get("parent"), 0
            while isinstance(at, int) and at > 1 and steps < DEEPEST:
                found.add(at)
                at, steps = (by_pid[at].get("parent") if at in by_pid else None), steps + 1
    return found


def _usage(service: Service) -> dict[str, float]:
    """Utilisation of the cores, where it is of now."""
    now = service.loop.clock.now().wall
    return {entity: point.value for entity, point in service.memory.ring.latest("core.utilization").items()
            if point.value is not None and now - point.time <= _STALE}  # fmt: skip


def history(service: Service, cores: list[str] | None) -> list[list[float | None]]:
    """The mean utilisation of cores over the last minutes, as points of a curve."""
    if not cores:
        return []
    now = service.loop.clock.now().wall
    series = service.memory.ring.series("core.utilization", cores[:256], now - WINDOW)
    columns = list(series.columns.values())
    step = max(1, -(-len(series.times) // POINTS))
    found: list[list[float | None]] = []
    for place in range(0, len(series.times), step):
        values = [column[place] for column in columns if column[place] == column[place]]  # NaN: nobody told
        if values:
            found.append([None, sum(values) / len(values), series.times[place]])
    return found
