"""compile.cached-failure: the entry of an earlier failed compile answers for the graph."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.cache import FLAGS
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.cached-failure"
WHAT = (
    "The cache holds the failure of yesterday's compile of a graph that the job needs: the compiler is not started, the run fails."
)
NEAR_MISS = "The cache holds the failure of a graph that no job needs any more."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, cache = _jobs.training(machine), machine.cache
    yesterday = machine.now - 86_000
    if injection.near_miss:
        entry = cache.add(machine.rng, yesterday, "failed")
    else:
        entry = next(iter(cache.good()))
    before = (entry.state, entry.time)
    entry.state, entry.time = "failed", yesterday
    entry.log = (f"Failed compilation with ['neuronx-cc', 'compile', '--framework=XLA', 'model.MODULE_{entry.module}+{FLAGS}.hlo_module.pb', "
                 f"'--target={machine.kind.family}']: [NCC_ITEN406] Tensorizer failed to legalize operand\n")  # fmt: skip
    yield from _jobs.next_runs(job, injection)
    if injection.near_miss:
        del cache.entries[entry.module]
    else:
        entry.state, entry.time, entry.log = *before, ""
    yield from _jobs.started_anew(job)
