"""runtime.cores-busy: a process that nobody thinks of holds cores that the job needs at its next start."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import runtime
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine, Process

ID = "runtime.cores-busy"
WHAT = "A notebook kernel that was left open holds the cores of one device; the job that needs them cannot start."
NEAR_MISS = "A profiler viewer has a device node open beside the job, without a core of its own; the job starts anew and runs."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    device = machine.devices[-1]
    first = device.index * machine.per_device()
    cores = tuple(range(first, first + machine.per_device()))
    for job in machine.jobs:
        job.stop(0)  # the run is over, the next one is queued
    yield 4.0
    if injection.near_miss:
        guest = _guest(machine, ["/opt/aws/neuron/bin/neuron-profile", "view", "--output-format", "parquet"], device.index, ())
    else:
        guest = _guest(machine, [f"{VENV}/bin/python3", "-m", "ipykernel_launcher", "-f",
                                 "/home/ubuntu/.local/share/jupyter/runtime/kernel-4f1c.json"], device.index, cores)  # fmt: skip
        guest.environ = {"VIRTUAL_ENV": VENV, "NEURON_RT_VISIBLE_CORES": f"{cores[0]}-{cores[-1]}", "NEURON_RT_LOG_LEVEL": "ERROR"}
        guest.log = guest.output = "/var/log/neuron/notebook.log"
        runtime.init(machine, guest)
        for core in cores:
            runtime.allocate(machine, guest, core, "tensors", 900_000_000)
    yield from injection.held()
    machine.end(guest)


def _guest(machine: Machine, argv: list[str], device: int, cores: tuple[int, ...]) -> Process:
    return machine.spawn(argv, devices=(device,), cores=cores, runtime=machine.software.runtime if cores else "", rss=1_800_000_000)
