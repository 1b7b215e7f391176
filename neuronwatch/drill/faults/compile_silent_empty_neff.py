"""compile.silent-empty-neff: a NEFF of no bytes with a marker that says done."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.silent-empty-neff"
WHAT = "A compile ended without an error and left a NEFF of no bytes: the cache takes it for good, and the load fails."
NEAR_MISS = "A very small graph: its NEFF has a few kilobytes, and loads."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    entry = machine.cache.good()[2]
    before = (entry.state, entry.size)
    entry.state, entry.size = ("done", 9_300) if injection.near_miss else ("empty-neff", 0)
    yield from _jobs.next_runs(job, injection)
    entry.state, entry.size = before
    yield from _jobs.started_anew(job)
