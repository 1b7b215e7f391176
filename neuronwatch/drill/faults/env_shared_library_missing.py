"""env.shared-library-missing: the collectives library is removed."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.shared-library-missing"
WHAT = "The package aws-neuronx-collectives is removed: libnccom.so cannot be opened, graphs with collectives do not load."
NEAR_MISS = "The package is installed anew in the same version."
PACKAGE = "aws-neuronx-collectives"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, software, before = _jobs.job(machine), machine.software, machine.software.collectives
    if injection.near_miss:
        operate.upgrade(machine, PACKAGE, before, by="apt-get install --reinstall")
    else:
        operate.remove(machine, PACKAGE)
    yield from _jobs.next_runs(job, injection)
    software.missing = tuple(name for name in software.missing if name != PACKAGE)
    operate.upgrade(machine, PACKAGE, before)
    yield from _jobs.started_anew(job)
