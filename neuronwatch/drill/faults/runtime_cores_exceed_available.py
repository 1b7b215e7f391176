"""runtime.cores-exceed-available: settings of a larger instance."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.cores-exceed-available"
WHAT = "The job's script sets NEURON_RT_VISIBLE_CORES for an instance with twice as many cores."
NEAR_MISS = "The job asks for exactly the cores that there are, at its next start."
NAME = "NEURON_RT_VISIBLE_CORES"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    if not injection.near_miss:
        job.environ[NAME] = f"0-{machine.logical_cores() * 2 - 1}"
    yield from _jobs.next_runs(job, injection)
    job.environ.pop(NAME, None)
    yield from _jobs.started_anew(job)
