"""train.loss-oscillation: the input is wrong, the optimizer is fine."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "train.loss-oscillation"
WHAT = (
    "Labels are shuffled against their inputs in a part of the data: the loss jumps by whole units, with ordinary gradient norms."
)
NEAR_MISS = "Small batches: the loss is noisier than before, by a tenth."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.swing = 0.1 if injection.near_miss else 2.2
    job.logged = 1
    yield from _jobs.next_runs(job, injection)
    job.swing, job.logged = 0.0, 5
    yield from _jobs.started_anew(job)
