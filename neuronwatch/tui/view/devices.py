"""Devices and cores as an operator thinks of them: busy, idle though held, free, faulty, not seen."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from neuronwatch.tui.view.picture import Picture
from neuronwatch.tui.view.values import Seen

CLASSES = ("tensors", "constants", "model_code", "scratchpad", "runtime")
CoreState = Literal["busy", "idle", "free", "faulty", "stale", "unknown"]
"""idle: memory is held and nothing is executed; free: nobody holds it; faulty: an open incident names it."""
IDLE_BELOW = 1.0
"""Percent of utilisation below which a core that holds memory is idle."""
HELD_ABOVE = 64 * 1024 * 1024
"""Bytes on a core above which somebody holds it: the driver alone keeps less."""
_CORE = re.compile(r"nd(\d+)(?::nc(\d+))?\Z")


class Core(NamedTuple):
    """`memory`: bytes by class of CLASSES, where known."""

    number: int
    state: CoreState
    utilization: Seen
    used: Seen
    memory: tuple[Seen, ...]


class Device(NamedTuple):
    """`mean`: utilisation of its cores in percent, None where no core's is known. `capacity`: bytes, None: unknown."""

    number: int
    cores: tuple[Core, ...]
    faults: tuple[str, ...]
    mean: float | None
    used: float | None
    capacity: float | None
    parts: tuple[float, ...]
    """Bytes of the device by class of CLASSES."""
    old: bool = False
    """Whether the memory is an old value of some core."""
    trail: tuple[float | None, ...] = ()
    """Utilisation of its cores over the last minutes, a mean for each PER_DEVICE seconds (view/picture.py)."""


def devices(picture: Picture) -> list[Device]:
    """All devices that any source tells of, and those that the instance type must have."""
    faulty = _faulty(picture)
    cores: dict[int, set[int]] = {}
    for metric in ("core.utilization", "core.memory.used"):
        for entity in picture.entities(metric):
            found = _CORE.match(entity)
            if found and found.group(2):
                cores.setdefault(int(found.group(1)), set()).add(int(found.group(2)))
    per_device = _number(picture, "neuron.cores_per_device") or _number(picture, "instance.cores_per_device")
    for number in range(int(_number(picture, "instance.devices"))):
        cores.setdefault(number, set(range(int(per_device))))
    capacity = _number(picture, "neuron.device_memory") or None
    if capacity is None and _number(picture, "instance.devices"):
        capacity = _number(picture, "instance.device_memory") / _number(picture, "instance.devices") or None
    return [_device(picture, number, sorted(cores[number]), faulty, capacity) for number in sorted(cores)]


def _device(picture: Picture, number: int, cores: list[int], faulty: dict[str, list[str]], capacity: float | None) -> Device:
    name = f"nd{number}"
    found = tuple(_core(picture, name, core, faulty) for core in cores)
    known = [core.utilization.number for core in found if core.utilization.known and core.utilization.number is not None]
    used = [core.used.number for core in found if core.used.number is not None]
    parts = tuple(sum(core.memory[place].number or 0.0 for core in found) for place in range(len(CLASSES)))
    faults = tuple(dict.fromkeys(faulty.get(name, []) + [f for core in cores for f in faulty.get(f"{name}:nc{core}", [])]))
    return Device(number, found, faults, sum(known) / len(known) if known else None, sum(used) if used else None, capacity, parts,
                  any(core.used.trust == "stale" for core in found),
                  tuple(value for _, value in picture.trails.get(f"core.utilization {name}", ())))  # fmt: skip


def _core(picture: Picture, device: str, number: int, faulty: dict[str, list[str]]) -> Core:
    name = f"{device}:nc{number}"
    utilization, used = picture.seen("core.utilization", name), picture.seen("core.memory.used", name)
    memory = tuple(picture.seen(f"core.memory.{part}", name) for part in CLASSES)
    return Core(number, _state(utilization, used, name in faulty or device in faulty), utilization, used, memory)


def _state(utilization: Seen, used: Seen, faulty: bool) -> CoreState:
    if faulty:
        return "faulty"
    if "stale" in (utilization.trust, used.trust) and not (utilization.known and used.known):
        return "stale" if not utilization.known else "busy"
    held = used.known and used.number is not None and used.number > HELD_ABOVE
    if utilization.known and utilization.number is not None:
        if utilization.number >= IDLE_BELOW:
            return "busy"
        return "idle" if held else "free" if used.known else "idle"
    # neuron-monitor tells of cores only while a runtime uses them: no word of a core that holds nothing means that it is free.
    if used.known:
        return "unknown" if held else "free"
    return "unknown"


def _faulty(picture: Picture) -> dict[str, list[str]]:
    """Entity to the faults of open incidents of weight that name it."""
    found: dict[str, list[str]] = {}
    for incident in picture.open_incidents():
        if incident["severity"] in ("error", "critical"):
            for finding in incident["findings"]:
                if finding["role"] == "cause":
                    for entity in finding["entities"]:
                        found.setdefault(entity, []).append(incident["fault"])
    return found


def _number(picture: Picture, name: str) -> float:
    value = picture.facts.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15 else 0.0
