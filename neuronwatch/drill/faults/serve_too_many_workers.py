"""serve.too-many-workers: each of several workers asks for all cores."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.jobs.workers import WorkersJob
from neuronwatch.drill.machine import Machine

ID = "serve.too-many-workers"
WHAT = "The server is replaced by one with two workers that each ask for all cores: the second finds none and is started again and again."
NEAR_MISS = "The server is replaced by one with two workers that share the cores."
NEEDS = Needs(load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    every = _jobs.serving(machine).cores
    half = len(every) // 2
    shares = [every[:half], every[half:]] if injection.near_miss else [every, every]
    yield from _jobs.replaced(machine, WorkersJob(machine, "classifier", shares), injection)
