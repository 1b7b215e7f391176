"""compile.stale-lock: the lock of a compile that was killed."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine

ID = "compile.stale-lock"
WHAT = "A killed compile left its lock in the cache: the next run waits for a compiler that does not exist."
NEAR_MISS = "The lock belongs to a compile of another user that runs; it ends, and the run goes on."


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    entry = machine.cache.good()[1]
    before = (entry.state, entry.time)
    entry.state, entry.time = "locked", machine.now - (10 if injection.near_miss else 5400)
    yield from _jobs.started_anew(job)
    if injection.near_miss:
        other = machine.spawn([f"{VENV}/bin/python3", f"{VENV}/bin/neuronx-cc", "compile", "--framework=XLA", "--target=trn1"],
                              uid=1001, cpu=300.0, rss=3_000_000_000)  # fmt: skip
        yield 110.0
        machine.end(other)
        entry.state, entry.time = "done", machine.now
        yield from injection.held()
        return
    yield from injection.held()
    entry.state, entry.time = before  # the lock is removed, the entry is whole
