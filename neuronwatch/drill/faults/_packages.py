"""What pip does to the venv of the jobs, as several faults have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.machine import Machine


def changed(machine: Machine, job: BaseJob, injection: Injection, versions: Mapping[str, str]) -> Iterator[float]:
    """pip brings packages to these versions ("": takes them away), the next runs import what is then there; clearing brings the
    former ones back."""
    python = machine.software.python
    if "optimum-neuron" not in python:
        raise ValueError("the venv of this host is of another release; leave --driver out")
    before = {name: python.get(name, "") for name in versions}
    for name, version in versions.items():
        operate.install(machine, name, version)
    yield from _jobs.next_runs(job, injection)
    for name, version in before.items():
        operate.install(machine, name, version)
    yield from _jobs.started_anew(job)
