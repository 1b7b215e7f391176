"""env.neuron-tools-missing-or-old: the tools are not on this image."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.neuron-tools-missing-or-old"
WHAT = "The package aws-neuronx-tools is removed: jobs run, and nobody can look at the devices with the Neuron tools."
NEAR_MISS = "The tools are upgraded to the next release."
PACKAGE = "aws-neuronx-tools"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    software, before = machine.software, machine.software.tools
    if injection.near_miss:
        operate.upgrade(machine, PACKAGE, operate.version_in(PACKAGE, operate.releases_after(machine)[0]))
    else:
        operate.remove(machine, PACKAGE)
    yield from injection.held()
    software.missing = tuple(name for name in software.missing if name != PACKAGE)
    operate.upgrade(machine, PACKAGE, before)
