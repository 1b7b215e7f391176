"""runtime.neff-version-unsupported: the compiler of the venv is upgraded, the runtime of the host stays."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "runtime.neff-version-unsupported"
WHAT = "neuronx-cc is upgraded alone: the graphs that it compiles are in a format that the host's runtime does not know."
NEAR_MISS = "A new sequence length makes the job compile its graphs anew, with the compiler that fits the runtime."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, cache = _jobs.training(machine), machine.cache
    before = (cache.compiler, cache.format)
    if not injection.near_miss:
        newest = operate.version_in("neuronx-cc", operate.releases_after(machine)[-1])
        operate.install(machine, "neuronx-cc", newest)
        cache.compiler, cache.format = newest, "2.0"
    job.new_graphs(2)
    job.compile_seconds = 12.0
    yield from _jobs.next_runs(job, injection)
    for module in job.fresh:
        cache.entries.pop(module, None)
    job.fresh = []
    cache.compiler, cache.format = before
    operate.install(machine, "neuronx-cc", before[0])
    job.compile_seconds = 90.0
    yield from _jobs.started_anew(job)
