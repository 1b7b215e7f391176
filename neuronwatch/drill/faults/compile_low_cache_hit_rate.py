"""compile.low-cache-hit-rate: a compiler flag that differs from start to start is part of the keys of all graphs."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.cache import FLAGS
from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.low-cache-hit-rate"
WHAT = "NEURON_CC_FLAGS holds a directory that each start names anew: every graph has another key, and is compiled beside a full cache."
NEAR_MISS = "One graph of the start is new, the others are taken from the cache."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, cache = _jobs.training(machine), machine.cache
    job.compile_seconds = 4.0
    if injection.near_miss:
        job.new_graphs(1)
        yield from _jobs.started_anew(job)
    while not injection.cleared:
        if not injection.near_miss:
            job.environ["NEURON_CC_FLAGS"] = f"--model-type=transformer --dump=/tmp/run-{int(machine.now)}"
            cache.flags = f"{machine.rng.getrandbits(32):08x}"
            yield from _jobs.started_anew(job)
        yield 100.0
    for key in [key for key, entry in cache.entries.items() if entry.flags != FLAGS or entry.module in job.fresh]:
        del cache.entries[key]
    cache.flags = FLAGS
    job.environ.pop("NEURON_CC_FLAGS", None)
    job.fresh, job.compile_seconds = [], 90.0
    yield from _jobs.started_anew(job)
