"""Which jobs a host runs: --load idle|train|serve|mixed."""

from __future__ import annotations

from neuronwatch.drill.jobs.api import Job
from neuronwatch.drill.jobs.rtd import RtdJob
from neuronwatch.drill.jobs.serving import ServingJob
from neuronwatch.drill.jobs.training import TrainingJob
from neuronwatch.drill.machine import Machine

LOADS = ("idle", "train", "serve", "mixed")


def usual(machine: Machine) -> str:
    """What such an instance is bought for."""
    return "serve" if machine.kind.family.startswith("inf") else "train"


def jobs(machine: Machine, load: str | None) -> list[Job]:
    """The jobs of that load over all cores; `mixed` trains on the first half and serves on the second."""
    load = load or usual(machine)
    every = tuple(range(machine.logical_cores()))
    if machine.software.legacy:
        return [RtdJob(machine, "bert-serve", every, client=load != "idle")]
    if load == "train":
        return [TrainingJob(machine, "qwen3-sft", every)]
    if load == "serve":
        return [ServingJob(machine, "qwen3-serve", every)]
    if load == "mixed":
        half = len(every) // 2
        return [TrainingJob(machine, "qwen3-sft", every[:half]), ServingJob(machine, "qwen3-serve", every[half:])]
    return []
