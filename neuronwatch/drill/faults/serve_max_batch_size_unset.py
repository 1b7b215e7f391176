"""serve.max-batch-size-unset: the server takes one request at a time."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "serve.max-batch-size-unset"
WHAT = "The server is started with room for one request: the others wait, and the queue grows."
NEAR_MISS = "The server has room for one request and is asked by one client: nobody waits."
NEEDS = Needs(load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.serving(machine)
    job.slots = 1
    job.demand = 0.08 if injection.near_miss else 1.2
    yield from _jobs.next_runs(job, injection)
    job.slots, job.demand, job.waiting = 16, 1.0, 0
    yield from _jobs.started_anew(job)
