"""hw.device-missing: a device drops off the bus while a job runs on it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import driver, operate
from neuronwatch.drill.faults import Injection, Needs
from neuronwatch.drill.machine import Machine

ID = "hw.device-missing"
WHAT = "One device stops to answer and drops off the bus: node, sysfs directory and PCI device are gone, the job on it dies."
NEAR_MISS = "The firmware of one device does not answer for some seconds, then it does again; the device stays on the bus."
NEEDS = Needs(instance="inf2.24xlarge", load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    device = machine.devices[len(machine.devices) // 2]
    device.firmware_hung = True
    yield 6.0
    if injection.near_miss:
        device.firmware_hung = False
        yield from injection.held()
        return
    driver.link_down(machine, device)
    device.present = False
    yield from injection.held()
    yield from operate.stop_and_start(machine)
