"""runtime.noncontiguous-devices: the devices of a job do not follow each other."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.noncontiguous-devices"
WHAT = "The server is started on devices 0 and 2, which are no neighbours: the runtime refuses the set."
NEAR_MISS = "The server is started on devices 0 and 1."
NEEDS = Needs(instance="inf2.24xlarge", load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.serving(machine)
    if len(machine.devices) < 3:
        raise ValueError("needs three devices, for example inf2.24xlarge")
    every, each = job.cores, machine.per_device()
    chosen = (0, 1) if injection.near_miss else (0, 2)
    job.take(tuple(device * each + core for device in chosen for core in range(each)))
    yield from _jobs.next_runs(job, injection)
    job.take(every)
    yield from _jobs.started_anew(job)
