"""compile.host-oom: a compile that needs more host memory than there is."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.host-oom"
WHAT = "A new graph needs more host memory for its compile than the host has: the kernel kills the compiler."
NEAR_MISS = "A new graph whose compile takes half of the host's memory; it ends well."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    before = (job.compile_memory, job.compile_seconds)
    job.compile_memory = machine.host.memory // 2 if injection.near_miss else machine.host.memory * 11 // 10
    job.compile_seconds = 40.0
    job.new_graphs(1)
    yield from _jobs.next_runs(job, injection)
    # The graph is compiled elsewhere, its failed entry moved away.
    for module in job.fresh:
        machine.cache.entries.pop(module, None)
    job.fresh = []
    job.compile_memory, job.compile_seconds = before
    yield from _jobs.started_anew(job)
