"""compile.graph-too-large: a graph beyond what the compiler can take."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.graph-too-large"
WHAT = "A longer sequence makes a graph with more instructions than the compiler takes: it gives the graph up."
NEAR_MISS = "A longer sequence makes a graph near the limit of the compiler, which takes long and ends well."
SAYS = ("[ERROR] [NCC_EBVF030] The number of instructions generated (6,208,114) exceeds the typical limit of 5,000,000. Please consider using "
        "smaller batches or applying model parallelism.")  # fmt: skip


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.new_graphs(1)
    job.compile_seconds = 50.0 if injection.near_miss else 20.0
    job.compile_defect = "" if injection.near_miss else SAYS
    yield from _jobs.next_runs(job, injection)
    _jobs.forget_fresh(machine, job)
    yield from _jobs.started_anew(job)
