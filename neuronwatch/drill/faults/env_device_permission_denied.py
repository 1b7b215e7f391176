"""env.device-permission-denied: the udev rule is gone, the nodes have the kernel's own mode."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.device-permission-denied"
WHAT = "The device nodes have mode 0600: the job, which is no root, cannot open them at its next start."
NEAR_MISS = "The device nodes have mode 0660 for a group that the job's user is in: the job starts."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    for device in machine.devices:
        device.mode = 0o660 if injection.near_miss else 0o600
    yield from _jobs.next_runs(job, injection)
    for device in machine.devices:
        device.mode = 0o666
    yield from _jobs.started_anew(job)
