"""data.fork-deadlock: forked data workers wait for locks that nobody holds."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "data.fork-deadlock"
WHAT = "Two data workers are forked after the tokenizer has started its threads: they wait for locks that nobody will ever free."
NEAR_MISS = "Two data workers that are forked before any thread, and need a minute for the data."
NEEDS = Needs(shows=240.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.workers, job.worker_memory, job.deadlocked = 2, 400_000_000, not injection.near_miss
    yield from _jobs.next_runs(job, injection)
    job.workers, job.deadlocked = 0, False
    yield from _jobs.started_anew(job)
