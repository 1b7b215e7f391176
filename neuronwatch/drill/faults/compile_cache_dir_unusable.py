"""compile.cache-dir-unusable: the cache lies on a read-only file system."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.cache-dir-unusable"
WHAT = "The cache directory is read-only for the job, which needs a graph that is not in it."
NEAR_MISS = "The cache directory is read-only, and all graphs of the job are in it."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    machine.cache.writable = False
    if not injection.near_miss:
        job.new_graphs(1)
    yield from _jobs.next_runs(job, injection)
    machine.cache.writable = True
    job.fresh = []
    yield from _jobs.started_anew(job)
