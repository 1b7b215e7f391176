"""runtime.device-state-stale: a run is killed while engines work, and the reset before the next one does not complete."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.device-state-stale"
WHAT = "The run is killed during an execution, and the reset of its cores does not complete: the next start finds engines running."
NEAR_MISS = "The run is killed during an execution; the reset of its cores completes and the next start runs."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    if not injection.near_miss:
        for device in machine.devices:
            device.reset_broken = True
    for process in list(job.processes):
        machine.end(process, 137, torn_down=not process.cores)
    yield from injection.held()
    if not injection.near_miss:
        yield from operate.reload_driver(machine)
