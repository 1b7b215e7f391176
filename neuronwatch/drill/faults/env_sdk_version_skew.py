"""env.sdk-version-skew: one package of the venv is of another SDK release."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.sdk-version-skew"
WHAT = "libneuronxla alone is upgraded to the next SDK release: a name that torch-neuronx takes from it is not there at the next start."
NEAR_MISS = "transformers-neuronx of the same SDK release is installed beside the others."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    release = machine.software.release if injection.near_miss else operate.releases_after(machine)[0]
    name = "transformers-neuronx" if injection.near_miss else "libneuronxla"
    changes = {name: operate.version_in(name, release)}
    yield from _packages.changed(machine, _jobs.training(machine), injection, changes)
