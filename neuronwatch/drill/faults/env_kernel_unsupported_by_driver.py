"""env.kernel-unsupported-by-driver: the host moves to a kernel series for which the driver's sources do not build."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.kernel-unsupported-by-driver"
WHAT = (
    "The host boots a kernel series that this driver release does not build on: DKMS stops with compile errors, no device appears."
)
NEAR_MISS = "The host boots a later kernel series on which this driver release builds."
BROKEN, FINE = "6.18.0-1004-aws", "6.11.0-1018-aws"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    kernel = machine.software.kernel
    yield from operate.reboot(machine, FINE if injection.near_miss else BROKEN)
    yield from injection.held()
    yield from operate.reboot(machine, kernel)
