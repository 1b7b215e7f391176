"""train.loss-nan: the loss of a run that was well becomes NaN and stays it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "train.loss-nan"
WHAT = "An overflow makes the weights NaN: the loss is NaN from that step on."
NEAR_MISS = "A bad batch: the loss is higher by one and a half for some steps, then it is as before."
NEEDS = Needs(shows=180.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    if injection.near_miss:
        job.loss_shift = 1.5
        yield 13.0
        job.loss_shift = None
        yield from injection.held()
        return
    while job.step < 40 and not injection.cleared:
        yield 2.0  # it overflows in the midst of a run, not at its start
    job.loss_shift = math.nan
    yield from injection.held()
    job.loss_shift = None
    yield from _jobs.started_anew(job)  # from the last checkpoint that is finite
