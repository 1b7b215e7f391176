"""env.path-incomplete: the bin directory of the venv is not on the PATH of the job."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine

ID = "env.path-incomplete"
WHAT = (
    "The unit of the job starts the venv's Python by its full path without the venv's bin on PATH: a helper program is not found."
)
NEAR_MISS = "The PATH of the unit lacks /usr/local/bin, which nothing needs."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.environ["PATH"] = f"{VENV}/bin:/opt/aws/neuron/bin:/usr/bin:/bin" if injection.near_miss else "/usr/local/bin:/usr/bin:/bin"
    yield from _jobs.next_runs(job, injection)
    job.environ.pop("PATH")
    yield from _jobs.started_anew(job)
