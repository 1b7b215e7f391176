"""env.legacy-neuron-packages: packages of the old line beside the new ones."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.legacy-neuron-packages"
WHAT = "Following old instructions somebody installs aws-neuron-tools and aws-neuron-runtime-base beside the aws-neuronx packages."
NEAR_MISS = "aws-neuronx-oci-hook, a package of the current line, is installed."
BROKEN = {"aws-neuron-tools": "2.1.4.0", "aws-neuron-runtime-base": "1.6.2.0"}
NEAR = {"aws-neuronx-oci-hook": "2.11.42.0"}


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    machine.software.added = NEAR if injection.near_miss else BROKEN
    yield from injection.held()
    machine.software.added = {}
