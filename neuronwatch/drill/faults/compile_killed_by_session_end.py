"""compile.killed-by-session-end: the login session ends, and the compile with it."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.killed-by-session-end"
WHAT = "The SSH session in which the job was started ends while it compiles: the compiler dies of the hang-up."
NEAR_MISS = "The same with a job that runs under a terminal multiplexer: the session ends, the compile goes on."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.new_graphs(1)
    job.compile_seconds = 30.0
    yield from _jobs.started_anew(job)
    while job.graphs is None or not job.graphs.compiler:
        if injection.cleared:
            return
        yield 1.0
    yield 8.0
    if not injection.near_miss and job.graphs is not None:
        for process in job.graphs.compiler:
            machine.end(process, 129)
        job.paused = True  # nobody is there to start it again
    yield from injection.held()
    for module in job.fresh:
        machine.cache.entries.pop(module, None)
    job.fresh, job.paused, job.compile_seconds = [], False, 90.0
    yield from _jobs.started_anew(job)
