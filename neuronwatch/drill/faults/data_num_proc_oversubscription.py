"""data.num-proc-oversubscription: more data workers than the host's memory carries."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "data.num-proc-oversubscription"
WHAT = "num_proc is set to 64 for a data set whose workers need a gigabyte each: the kernel kills workers, the map fails."
NEAR_MISS = "num_proc is half of the vCPUs, and all workers fit into memory."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.workers = max(2, machine.host.cpus // 2) if injection.near_miss else 64
    job.worker_memory = 800_000_000 if injection.near_miss else machine.host.memory // 24
    yield from _jobs.next_runs(job, injection)
    job.workers = 0
    yield from _jobs.started_anew(job)
