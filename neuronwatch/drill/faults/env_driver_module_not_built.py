"""env.driver-module-not-built: a kernel upgrade without the headers of the new kernel, then a reboot."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.driver-module-not-built"
WHAT = "The host boots a new kernel whose headers are not installed: DKMS has built no module for it, no device appears."
NEAR_MISS = "The host boots a new kernel with its headers: DKMS has built the module, the devices are there."
KERNEL = "6.8.0-1036-aws"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    software, kernel = machine.software, machine.software.kernel
    yield from operate.reboot(machine, KERNEL, headers=injection.near_miss)
    yield from injection.held()
    yield from operate.reboot(machine, kernel)
    software.build_log = ""
