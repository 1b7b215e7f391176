"""env.python-package-missing: a library that the script imports is not installed."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.python-package-missing"
WHAT = "trl is not in the venv: the training script stops at its import."
NEAR_MISS = "vllm is taken out of the venv of a host that only trains."
BROKEN = {"trl": ""}
NEAR = {"vllm": ""}


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.training(machine), injection, NEAR if injection.near_miss else BROKEN)
