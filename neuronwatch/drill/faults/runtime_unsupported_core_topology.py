"""runtime.unsupported-core-topology: a group of cores that the ring of the host does not allow."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.unsupported-core-topology"
WHAT = "The job is started on 24 of the 32 cores of a trn1.32xlarge: the collectives of its graphs cannot be loaded."
NEAR_MISS = "The job is started on 16 of the 32 cores, which is a group that the host allows."
NEEDS = Needs(instance="trn1.32xlarge")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    if machine.kind.family != "trn1" or machine.logical_cores() < 32:
        raise ValueError("only on trn1.32xlarge")
    job.take(tuple(range(16 if injection.near_miss else 24)))
    yield from _jobs.next_runs(job, injection)
    job.take(tuple(range(machine.logical_cores())))
    yield from _jobs.started_anew(job)
