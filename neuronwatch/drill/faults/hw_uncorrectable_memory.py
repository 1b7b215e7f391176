"""hw.uncorrectable-memory: SRAM of one core breaks, an execution meets it, the job dies; the instance must be replaced."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "hw.uncorrectable-memory"
WHAT = "An uncorrectable error in the SRAM of one device: executions on it fail and its ECC counter rises."
NEAR_MISS = "Corrected ECC errors on the device: the counters of corrected errors rise, executions go on."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    device = machine.devices[len(machine.devices) // 4]
    if injection.near_miss:
        while not injection.cleared:
            device.ecc["sram_ecc_corrected"] += 1
            device.ecc["mem_ecc_corrected"] += 2
            yield 20.0
        return
    device.sram_defect = True
    device.ecc["sram_ecc_uncorrected"] += 1
    yield 3.0  # one bad word is read again and again
    device.ecc["sram_ecc_uncorrected"] += 1
    device.unhealthy = ("sram",)
    yield from injection.held()
    yield from operate.stop_and_start(machine)
