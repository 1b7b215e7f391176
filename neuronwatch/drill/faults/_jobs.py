"""What several faults do with jobs."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection
from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.jobs.rtd import RtdJob
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


def rtd(machine: Machine) -> RtdJob:
    for item in machine.jobs:
        if isinstance(item, RtdJob):
            return item
    raise ValueError("this host has no neuron-rtd; start an inf1 host with `--driver 1.5.0.0`")


def replaced(machine: Machine, other: BaseJob, injection: Injection) -> Iterator[float]:
    """Another job runs in the place of all, until it is cleared."""
    usual = machine.jobs
    for item in usual:
        item.stop(143)
    yield 1.0
    machine.jobs = [other]
    yield from injection.held()
    other.stop(143)
    machine.jobs = usual
    yield 1.0


def forget_fresh(machine: Machine, item: BaseJob) -> None:
    """The job needs no new graph any more, and a failed entry of one is moved away."""
    for module in item.fresh:
        machine.cache.entries.pop(module, None)
    item.fresh, item.compile_defect, item.compile_seconds = [], "", 90.0


def started_anew(item: BaseJob) -> Iterator[float]:
    """The run ends and the next one is queued: what was changed since takes effect with it."""
    item.stop(143)
    yield 1.0


def next_runs(item: BaseJob, injection: Injection) -> Iterator[float]:
    """The run ends, and what was changed holds for the next ones, until it is cleared."""
    yield from started_anew(item)
    yield from injection.held()
