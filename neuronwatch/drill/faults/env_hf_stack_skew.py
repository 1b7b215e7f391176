"""env.hf-stack-skew: transformers is upgraded away from what optimum-neuron is made for."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.hf-stack-skew"
WHAT = "transformers is upgraded to the next major release, which the optimum-neuron of the venv is not made for: its import fails."
NEAR_MISS = "transformers is upgraded to a patch release that optimum-neuron allows."
BROKEN = {"transformers": "5.0.0"}
NEAR = {"transformers": "4.57.3"}


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.training(machine), injection, NEAR if injection.near_miss else BROKEN)
