"""What the host publishes for its own tools (neuron-ls, neuron-monitor, neuron-top, dmesg), which are separate programs."""

from __future__ import annotations

import json
import os
from typing import Any

from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Core, Device, Machine, Process

STATE = "/.drill/state.json"
RING = "/.drill/dmesg"


class State:
    """One JSON document, replaced at each tick; the kernel's ring in a file of its own."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._ring = -1

    def render(self) -> None:
        self._files.replace(STATE, json.dumps(document(self._machine), separators=(",", ":")).encode())
        kernel = self._machine.kernel
        if kernel.written != self._ring:
            self._ring = kernel.written
            self._files.replace(RING, "".join(line + "\n" for line in kernel.ring).encode())


def document(machine: Machine) -> dict[str, Any]:
    who, kind, chip, software = machine.identity, machine.kind, machine.chip, machine.software
    return {
        "pid": os.getpid(), "time": machine.now, "rate": machine.clock.rate, "boot": machine.clock.boot,
        "instance": {"type": kind.name, "id": who.instance_id, "family": kind.family, "generation": kind.generation, "zone": who.zone,
                     "zone_id": who.zone_id, "region": who.region, "ami": who.ami, "subnet": who.subnet, "hostname": who.hostname},
        "chip": {"type": chip.type, "device": chip.device_version, "core": chip.core_version, "lnc_core": chip.lnc_version},
        "tools": software.tools, "driver": software.loaded if machine.driver_loaded else "", "runtime": software.runtime,
        "lnc": machine.lnc, "physical": kind.physical_cores // kind.devices, "memory": kind.device_memory // kind.devices,
        "outages": machine.outages, "devices": [_device(device) for device in machine.present],
        "processes": [_process(item) for item in machine.processes.values() if item.devices],
        "host": _host(machine),
    }  # fmt: skip


def _device(device: Device) -> dict[str, Any]:
    return {"index": device.index, "bdf": device.address, "connected": device.connected, "affinity": device.affinity,
            "numa": device.numa_node, "ecc": device.ecc, "hung": device.firmware_hung, "open": device.mode & 0o006 == 0o006,
            "cores": [_core(core) for core in device.cores]}  # fmt: skip


def _core(core: Core) -> dict[str, Any]:
    memory = {name: usage.used for name, usage in core.memory.items() if usage.used}
    return {"util": round(core.utilization, 2), "busy": round(core.busy, 4), "owner": core.owner, "memory": memory}


def _process(process: Process) -> dict[str, Any]:
    return {"pid": process.pid, "command": " ".join(process.argv), "devices": process.devices, "cores": process.cores,
            "runtime": process.runtime, "tag": process.tag, "rss": process.rss, "cpu": process.cpu, "tallies": process.tallies,
            "latency": process.latency, "flops": process.flops, "models": process.models}  # fmt: skip


def _host(machine: Machine) -> dict[str, Any]:
    host = machine.host
    return {"cpus": host.cpus, "memory": host.memory, "used": host.used, "user": host.user, "system": host.system,
            "io_wait": host.io_wait, "switches": host.context_switches}  # fmt: skip
