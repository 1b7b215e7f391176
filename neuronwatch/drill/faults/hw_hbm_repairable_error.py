"""hw.hbm-repairable-error: a row of the HBM fails and can be remapped at the next load of the driver."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "hw.hbm-repairable-error"
WHAT = (
    "A memory row of one device fails and waits for its repair: the execution that reads it stops, a reload of the driver mends it."
)
NEAR_MISS = "The driver is reloaded between two runs, and the memory corrects single bits all the time: no row is lost."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    device = machine.devices[len(machine.devices) // 3]
    if injection.near_miss:
        yield from operate.reload_driver(machine)
        while not injection.cleared:
            device.ecc["mem_ecc_corrected"] += 1
            yield 15.0
        return
    device.hbm_defect = "repairable"
    device.ecc["mem_ecc_repairable_uncorrected"] += 1
    yield 5.0
    device.unhealthy = ("hbm",)
    yield from injection.held()
    yield from operate.reload_driver(machine)  # which remaps the row
