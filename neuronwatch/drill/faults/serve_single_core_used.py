"""serve.single-core-used: one copy of the model on one of many cores."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.jobs.workers import WorkersJob
from neuronwatch.drill.machine import Machine

ID = "serve.single-core-used"
WHAT = "The server is replaced by one that loads a single copy of its model on one core, which is busy all the time; the others are idle."
NEAR_MISS = "The server is replaced by one with a copy on each core, and all cores are as busy."
NEEDS = Needs(load="serve", shows=330.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    every = _jobs.serving(machine).cores
    shares: list[tuple[int, ...]] = [(core,) for core in every] if injection.near_miss else [every[:1]]
    yield from _jobs.replaced(machine, WorkersJob(machine, "classifier", shares, level=0.97), injection)
