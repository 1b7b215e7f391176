"""serve.concurrency-at-limit: all slots are taken, and requests push each other out."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "serve.concurrency-at-limit"
WHAT = "As many clients as slots and more: with all slots taken requests are preempted again and again, the token rate collapses."
NEAR_MISS = "As many clients as slots: all slots are taken at times, the token rate is as high as ever."
NEEDS = Needs(load="serve", shows=200.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.serving(machine)
    job.demand = 3.0
    job.slots = 12 if injection.near_miss else 6
    yield from _jobs.started_anew(job)
    while not job.processes and not injection.cleared:
        yield 1.0
    yield 45.0  # the queue grows, and with it the prompts that are half done
    job.thrashes = not injection.near_miss
    yield from injection.held()
    job.slots, job.demand, job.thrashes, job.waiting = 16, 1.0, False, 0
    yield from _jobs.started_anew(job)
