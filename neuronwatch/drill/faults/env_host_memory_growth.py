"""env.host-memory-growth: a leak."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.host-memory-growth"
WHAT = "The job keeps something of each step: its resident memory grows all the time and will reach the limit of the host within the hour."
NEAR_MISS = "The job reads ahead into a larger buffer: its memory is higher from then on, and stays so."
NEEDS = Needs(shows=900.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    if injection.near_miss:
        for process in job.ranks():
            process.rss += machine.host.memory // 8 // len(job.cores)
        yield from injection.held()
        return
    job.leak = machine.host.memory / 3000
    yield from injection.held()
    job.leak = 0.0
    yield from _jobs.started_anew(job)
