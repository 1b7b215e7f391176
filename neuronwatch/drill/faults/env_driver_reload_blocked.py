"""env.driver-reload-blocked: the driver's package is upgraded, and what holds the devices keeps the old module loaded."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.driver-reload-blocked"
WHAT = "The driver's package is upgraded while the job and a monitor hold the devices: the module cannot be unloaded, the old one stays."
NEAR_MISS = "The driver's package is upgraded with the devices free: the new module is loaded."
PACKAGE = "aws-neuronx-dkms"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    before = machine.software.driver
    later = operate.version_in(PACKAGE, operate.releases_after(machine)[0])
    if injection.near_miss:
        yield from operate.upgrade_driver(machine, later)
    else:
        operate.upgrade(machine, PACKAGE, later)
        operate.refused_to_unload(machine)
    yield from injection.held()
    yield from operate.upgrade_driver(machine, before)
