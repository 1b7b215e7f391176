"""runtime.not-on-device: the job takes the CPU of the host for its device."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.not-on-device"
WHAT = "PJRT_DEVICE=CPU is left in the environment: the next run trains on the CPUs of the host, and nobody holds a core."
NEAR_MISS = "PJRT_DEVICE=NEURON is in the environment: the next run trains on the cores."
NEEDS = Needs(shows=330.0)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.environ["PJRT_DEVICE"] = "NEURON" if injection.near_miss else "CPU"
    yield from _jobs.next_runs(job, injection)
    job.stop(143)
    job.environ.pop("PJRT_DEVICE")
    yield 1.0
