"""env.disk-full: checkpoints fill the file system that they are written to."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.disk-full"
WHAT = "The root file system fills up: the next checkpoint of the job cannot be written, and the job ends."
NEAR_MISS = "The root file system is filled to 95 percent; checkpoints are still written."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    host, job = machine.host, _jobs.training(machine)
    before = host.disk_used
    host.disk_used = int(host.disk_total * 0.95) if injection.near_miss else host.disk_total
    job.saved = 10
    yield from injection.held()
    host.disk_used = before
    job.saved = None
