"""env.legacy-neuron-rtd: the service neuron-rtd does not start."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.legacy-neuron-rtd"
WHAT = (
    "The configuration of neuron-rtd lists no usable device any more: the daemon ends at each start, and its client has no runtime."
)
NEAR_MISS = "neuron-rtd is restarted, and serves again."
NEEDS = Needs(instance="inf1.6xlarge", driver="1.5.0.0")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.rtd(machine)
    job.broken = "" if injection.near_miss else "Failed to initialize devices, error:1"
    yield from _jobs.next_runs(job, injection)
    job.broken = ""
