"""What several faults do with jobs."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.jobs.serving import ServingJob
from neuronwatch.drill.jobs.training import TrainingJob
from neuronwatch.drill.machine import Machine


def job(machine: Machine) -> BaseJob:
    """The job that the fault is played on; a host without one has none to fall ill."""
    for item in machine.jobs:
        if isinstance(item, BaseJob):
            return item
    raise ValueError("this host runs no job; start it with `--load train` or `--load serve`")


def training(machine: Machine) -> TrainingJob:
    for item in machine.jobs:
        if isinstance(item, TrainingJob):
            return item
    raise ValueError("this host trains nothing; start it with `--load train`")


def serving(machine: Machine) -> ServingJob:
    for item in machine.jobs:
        if isinstance(item, ServingJob):
            return item
    raise ValueError("this host serves nothing; start it with `--load serve`")


def started_anew(item: BaseJob) -> Iterator[float]:
    """The run ends and the next one is queued: what was changed since takes effect with it."""
    item.stop(143)
    yield 1.0
