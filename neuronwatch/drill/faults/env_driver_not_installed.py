"""env.driver-not-installed: the instance runs an image that carries no Neuron driver."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.driver-not-installed"
WHAT = (
    "The driver's package was removed and the host rebooted: the chips are on the bus, no module, no node; the job finds no driver."
)
NEAR_MISS = "The driver's package is installed anew in the same version, and the module reloaded."
PACKAGE = "aws-neuronx-dkms"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    software, before = machine.software, machine.software.driver
    if injection.near_miss:
        yield from operate.upgrade_driver(machine, before, by="apt-get install --reinstall")
        yield from injection.held()
        return
    job = _jobs.job(machine)
    operate.remove(machine, PACKAGE)
    yield from operate.reboot(machine)
    job.unchecked = True  # started by hand, whatever the scheduler says of the node
    yield from injection.held()
    job.unchecked = False
    software.missing = tuple(name for name in software.missing if name != PACKAGE)
    yield from operate.upgrade_driver(machine, before)
