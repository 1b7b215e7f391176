"""env.driver-too-old-for-runtime: the runtime library is upgraded, the driver stays; the next start fails."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.driver-too-old-for-runtime"
WHAT = "The runtime library alone is upgraded to a release that the loaded driver is too old for; the next job cannot initialise."
NEAR_MISS = "The runtime library is upgraded to a later release that the loaded driver still serves; the next job starts."
PACKAGES = ("aws-neuronx-runtime-lib", "aws-neuronx-collectives")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    software = machine.software
    before = (software.runtime, software.collectives)
    wanted = [
        name for name in operate.releases_after(machine)
        if operate.accept_each_other(machine, operate.version_in(PACKAGES[0], name), software.loaded) == injection.near_miss
    ]  # fmt: skip
    for package in PACKAGES:
        operate.upgrade(machine, package, operate.version_in(package, wanted[0]))
    yield 2.0
    operate.restart_jobs(machine)
    yield from injection.held()
    for package, version in zip(PACKAGES, before, strict=True):
        operate.upgrade(machine, package, version)
    operate.restart_jobs(machine)
