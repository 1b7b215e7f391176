"""runtime.dge-notification-overflow: a setting for profiles is left on in a long run."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.dge-notification-overflow"
WHAT = "NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 is left on from a profile: after some minutes the queue that nobody reads is full."
NEAR_MISS = "The same setting for the twenty seconds of a profile; the run proper has it off."
NAME = "NEURON_RT_ENABLE_DGE_NOTIFICATIONS"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    job.environ[NAME] = "1"
    yield from _jobs.started_anew(job)
    if injection.near_miss:
        while not job.processes:
            yield 1.0
        yield 20.0
        job.environ.pop(NAME)
        yield from _jobs.started_anew(job)
        yield from injection.held()
        return
    yield from injection.held()
    job.environ.pop(NAME)
    yield from _jobs.started_anew(job)
