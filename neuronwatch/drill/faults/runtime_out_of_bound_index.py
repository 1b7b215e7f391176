"""runtime.out-of-bound-index: ids beyond the embedding table reach the device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import runtime
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.out-of-bound-index"
WHAT = "The input holds ids beyond the embedding table: the lookup leaves its bounds and the execution is aborted."
NEAR_MISS = "The new data is checked before it is used, the job starts anew with it and runs."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    if injection.near_miss:
        yield from _jobs.started_anew(job)
        yield from injection.held()
        return
    job.meets = runtime.OUT_OF_BOUND
    yield from injection.held()
    job.meets = None
