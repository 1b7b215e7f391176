"""env.pip-index-misconfigured: the placeholders of PyPI instead of the Neuron packages."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.imports import STUB
from neuronwatch.drill.machine import Machine

ID = "env.pip-index-misconfigured"
WHAT = "The venv is made anew with PyPI alone: torch-neuronx and libneuronxla are the placeholders that raise at their import."
NEAR_MISS = "The venv is made anew with the Neuron index as extra index: the same versions as before."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    python = machine.software.python
    names = ("torch-neuronx", "libneuronxla")
    changes = {name: python.get(name, "") if injection.near_miss else STUB for name in names}
    yield from _packages.changed(machine, _jobs.training(machine), injection, changes)
