"""runtime.numerical-error: the graph makes a NaN on the device, and the runtime has been asked to fail on it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import runtime
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.numerical-error"
WHAT = "The graph of the job holds a NaN constant: its executions end with a numerical error, which the job has asked to hear of."
NEAR_MISS = (
    "The same NaN in a lane that is masked afterwards, with the runtime as it is by default: it reports nothing, the loss is fine."
)


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.job(machine)
    job.meets = runtime.NUMERICAL
    if not injection.near_miss:
        job.environ["NEURON_RT_NUMERICAL_ERRORS_VERBOSITY"] = "warning"
    yield from _jobs.next_runs(job, injection)
    job.meets = None
    job.environ.pop("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY", None)
    yield from _jobs.started_anew(job)
