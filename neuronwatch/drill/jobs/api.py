"""What a job is: processes that run on the devices, a log, and what happens when one of them dies."""

from __future__ import annotations

from typing import Protocol

from neuronwatch.drill.machine import Process

VENV = "/opt/aws_neuronx_venv_pytorch_2_8"
JOBS = "/var/log/jobs"
RUNTIME_LOGS = "/var/log/neuron"


class Job(Protocol):
    """One piece of work. `processes` are those that live, the launcher first; `paused` keeps it from starting anew."""

    name: str
    processes: list[Process]
    paused: bool

    def tick(self, seconds: float) -> None:
        """Moves by so many seconds of host time: starts, works, ends, starts again after a failure."""
        ...

    def stop(self, status: int = 143) -> None:
        """Ends all its processes at once."""
        ...
