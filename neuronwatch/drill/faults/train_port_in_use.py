"""train.port-in-use: a leftover of an earlier run holds the port of the rendezvous."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.jobs.training import PORT
from neuronwatch.drill.machine import Machine

ID = "train.port-in-use"
WHAT = "A launcher of an earlier run, which did not end, listens on the port of the rendezvous: the next start cannot bind it."
NEAR_MISS = "A tensorboard listens on another port."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    argv = [
        f"{VENV}/bin/python3",
        f"{VENV}/bin/{'tensorboard' if injection.near_miss else 'torchrun'}",
        "--nproc_per_node",
        "2",
        "old.py",
    ]
    job.stop(0)
    leftover = machine.spawn(argv, ports=(6006,) if injection.near_miss else (PORT,), rss=300_000_000)
    yield from injection.held()
    machine.end(leftover, 143)
