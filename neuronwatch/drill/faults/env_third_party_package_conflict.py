"""env.third-party-package-conflict: a general package leaves the range that the Neuron packages need."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.third-party-package-conflict"
WHAT = "Another install brings protobuf 5: the generated code of libneuronxla is refused at its import."
NEAR_MISS = "protobuf goes to another patch release of its 3.20 line."
BROKEN = {"protobuf": "5.29.3"}
NEAR = {"protobuf": "3.20.2"}


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.training(machine), injection, NEAR if injection.near_miss else BROKEN)
