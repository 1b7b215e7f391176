"""runtime.dma-abort: a DMA engine of one core goes into its abort state and stays there until the device is reset."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import driver, operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "runtime.dma-abort"
WHAT = "A DMA engine of one core is in abort state: the execution fails, and so does each later one, until the driver is reloaded."
NEAR_MISS = "One DMA transfer is late while a core is reset; the driver says so once and copies again."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    device = machine.devices[len(machine.devices) * 2 // 3]
    driver.late_transfer(machine, device)
    if injection.near_miss:
        driver.copied_again(machine, device)
        yield from injection.held()
        return
    yield 1.5
    device.cores[0].dma_abort = True
    yield from injection.held()
    yield from operate.reload_driver(machine)
