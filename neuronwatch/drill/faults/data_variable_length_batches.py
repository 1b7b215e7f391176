"""data.variable-length-batches: each batch has another length, and each length is another graph."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "data.variable-length-batches"
WHAT = "Batches are padded to their longest sample only: nearly each step has a new shape, and a new graph is compiled for it."
NEAR_MISS = "The last, shorter batch of the epoch has a shape of its own: one compile between the steps."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    before = job.logged
    job.compile_seconds, job.logged = 6.0, 1
    job.new_shapes = 1 if injection.near_miss else 10_000
    yield from injection.held()
    job.new_shapes, job.compile_seconds, job.logged = 0, 90.0, before
    yield from _jobs.started_anew(job)
