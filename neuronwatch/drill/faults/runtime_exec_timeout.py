"""runtime.exec-timeout: graphs that take longer than the runtime waits."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.exec-timeout"
WHAT = "The graphs of the job take about three seconds, and NEURON_RT_EXEC_TIMEOUT is two: the runtime gives the execution up."
NEAR_MISS = "Graphs just as long, with NEURON_RT_EXEC_TIMEOUT=600."
NAME = "NEURON_RT_EXEC_TIMEOUT"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.graph = job.factor = 10.0
    job.environ[NAME] = "600" if injection.near_miss else "2"
    yield from _jobs.next_runs(job, injection)
    job.graph = job.factor = 1.0
    job.environ.pop(NAME)
    yield from _jobs.started_anew(job)
