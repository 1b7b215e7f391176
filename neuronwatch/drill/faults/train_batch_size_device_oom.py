"""train.batch-size-device-oom: a batch per core that was copied from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "train.batch-size-device-oom"
WHAT = "per_device_train_batch_size is 16 where 1 was usual: the activations do not fit beside the weights."
NEAR_MISS = "per_device_train_batch_size is 6: the scratchpad grows, and it fits."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.batch = 6 if injection.near_miss else 16
    yield from _jobs.next_runs(job, injection)
    job.batch = 1
    yield from _jobs.started_anew(job)
