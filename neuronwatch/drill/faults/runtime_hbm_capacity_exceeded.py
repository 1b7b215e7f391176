"""runtime.hbm-capacity-exceeded: a model that is too large for the memory of the cores that it is spread over."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.hbm-capacity-exceeded"
WHAT = "The next start loads a model of two and a half times the size on the same cores: device memory is full while it is loaded."
NEAR_MISS = "The next start loads a model of nearly twice the size, which leaves a tenth of the device memory free."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    job.weights = 1.8 if injection.near_miss else 2.6
    yield from _jobs.next_runs(job, injection)
    job.weights = 1.0
    yield from _jobs.started_anew(job)
