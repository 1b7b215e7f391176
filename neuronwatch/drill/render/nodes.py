"""Device nodes, PCI devices, the DMI table. The nodes are plain files: nothing of this machine's hardware is behind them."""

from __future__ import annotations

import os

from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine

PCI = "/sys/bus/pci/devices"


class Nodes:
    """`/dev/neuronN` with its mode, `/sys/bus/pci/devices/...` of every chip that is on the bus, EFA and NVMe beside them."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._nodes: dict[int, int] = {}
        self._bus: set[str] = set()
        kind = machine.kind
        files.put("/sys/class/dmi/id/product_name", kind.name + "\n", 0o444)
        files.put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n", 0o444)
        files.put("/sys/class/dmi/id/board_asset_tag", machine.identity.instance_id + "\n", 0o444)
        self._pci("0000:00:04.0", "0x1d0f", "0x8061", "0x010802")
        self._pci("0000:00:05.0", "0x1d0f", "0xec20", "0x020000")
        if kind.efa:
            for number in range(8 if kind.generation < 3 else 16):
                self._pci(f"0000:{0xA0 + number // 2:02x}:{0x19 + number % 2:02x}.0", "0x1d0f", "0xefa1", "0x020000")

    def render(self) -> None:
        machine = self._machine
        wanted = {device.index: device.mode for device in machine.present}
        for number in set(self._nodes) - set(wanted):
            self._files.remove(f"/dev/neuron{number}")
            del self._nodes[number]
        for number, mode in wanted.items():
            if self._nodes.get(number) != mode:
                self._files.put(f"/dev/neuron{number}", "", mode)
                os.chmod(self._files.where(f"/dev/neuron{number}"), mode)
                self._nodes[number] = mode
        on_bus = {device.address for device in machine.devices if device.present}
        for address in self._bus - on_bus:
            self._files.remove(f"{PCI}/{address}")
        for address in on_bus - self._bus:
            self._pci(address, "0x1d0f", machine.chip.pci, "0x088000")
        self._bus = on_bus

    def _pci(self, address: str, vendor: str, device: str, kind: str) -> None:
        for name, value in (("vendor", vendor), ("device", device), ("class", kind), ("numa_node", "0")):
            self._files.put(f"{PCI}/{address}/{name}", value + "\n", 0o444)
