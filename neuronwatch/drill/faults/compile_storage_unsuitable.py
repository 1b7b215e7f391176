"""compile.storage-unsuitable: the cache lies on a network file system that all ranks hit at once."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.storage-unsuitable"
WHAT = "The compile cache is moved to an NFS mount: locks and look-ups of its entries fail."
NEAR_MISS = "A data set lies on an NFS mount; the compile cache stays on the local disk."
SERVER = "10.0.0.5:/export"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, cache, before = _jobs.training(machine), machine.cache, machine.cache.directory
    machine.host.mounts["/shared"] = f"{SERVER} /shared nfs4 rw,relatime,vers=4.2,hard,proto=tcp 0 0"
    if not injection.near_miss:
        cache.directory = "/shared/neuron-compile-cache"
        cache.unlockable = True
    yield from _jobs.next_runs(job, injection)
    cache.directory, cache.unlockable = before, False
    machine.host.mounts.pop("/shared")
    yield from _jobs.started_anew(job)
