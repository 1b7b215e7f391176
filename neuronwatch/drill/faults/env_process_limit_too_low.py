"""env.process-limit-too-low: the job runs with a limit of open files that its ranks' connections exceed."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.process-limit-too-low"
WHAT = "The unit of the job sets a limit of 64 open files: the ranks cannot accept the connections of their peers."
NEAR_MISS = "The unit sets a limit of 4096 open files, which is enough."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.limits = {"open files": 4096 if injection.near_miss else 64}
    yield from _jobs.next_runs(job, injection)
    job.limits = {}
    yield from _jobs.started_anew(job)
