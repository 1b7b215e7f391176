"""train.checkpoint-host-oom: all ranks hold their state in host memory at the same moment."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "train.checkpoint-host-oom"
WHAT = "Each rank copies its whole state to host memory when a checkpoint is written: the kernel kills one of them."
NEAR_MISS = "Checkpoints take half of the host's memory for some seconds; all ranks live."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    share = 0.3 if injection.near_miss else 1.1
    job.save_memory, job.saved = int(machine.host.memory * share / len(job.cores)), 15
    yield from injection.held()
    job.save_memory, job.saved = 0, None
