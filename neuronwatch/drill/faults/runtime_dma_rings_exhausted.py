"""runtime.dma-rings-exhausted: a graph of very many small transfers."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.dma-rings-exhausted"
WHAT = "A graph with very many small transfers asks for more DMA descriptors than the rings of a core hold; memory is free."
NEAR_MISS = "A graph with many transfers that still fits into the rings."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    usual = {entry.module: entry.descriptors for entry in machine.cache.good()}
    for entry in machine.cache.good():
        entry.descriptors = 1_400_000 if injection.near_miss else 9_000_000
    yield from _jobs.next_runs(job, injection)
    for entry in machine.cache.good():
        entry.descriptors = usual.get(entry.module, 40_000)
    yield from _jobs.started_anew(job)
