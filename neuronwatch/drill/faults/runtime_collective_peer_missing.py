"""runtime.collective-peer-missing: one rank does not come, the others wait in the first collective."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.collective-peer-missing"
WHAT = "One rank hangs in a read of its data before the first collective: the others wait for it, and give up after ten minutes."
NEAR_MISS = "One rank comes a minute late: the others wait for it, then all go on."
NEEDS = Needs(shows=720.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.absent = 1
    yield from _jobs.started_anew(job)
    if injection.near_miss:
        while not job.processes:
            yield 1.0
        yield 60.0
        job.absent = None
        yield from injection.held()
        return
    yield from injection.held()
    job.absent = None
    yield from _jobs.started_anew(job)
