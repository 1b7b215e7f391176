"""env.native-abi-mismatch: torch is replaced under torch-xla."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.native-abi-mismatch"
WHAT = "A pip install brings torch 2.9 under the torch-xla that was built for 2.8: its C++ part finds a symbol missing."
NEAR_MISS = "torch-xla is brought to another patch release for the same torch."
BROKEN = {"torch": "2.9.0"}
NEAR = {"torch-xla": "2.8.0"}


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.training(machine), injection, NEAR if injection.near_miss else BROKEN)
