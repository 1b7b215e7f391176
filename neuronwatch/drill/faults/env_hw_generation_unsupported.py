"""env.hw-generation-unsupported: a runtime that no longer knows the chip."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection, Needs, _jobs
from neuronwatch.drill.machine import Machine

ID = "env.hw-generation-unsupported"
WHAT = "The runtime library of an Inf1 host is upgraded past the releases that know its chips: it finds no architecture."
NEAR_MISS = "The runtime library of an Inf1 host is upgraded to a later release that still knows its chips."
PACKAGE, LAST, LATER = "aws-neuronx-runtime-lib", "2.22.19.0", "2.28.23.0"
NEEDS = Needs(instance="inf1.6xlarge", load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job, before = _jobs.job(machine), machine.software.runtime
    if machine.kind.family != "inf1":
        raise ValueError("only on inf1")
    operate.upgrade(machine, PACKAGE, LAST if injection.near_miss else LATER)
    yield from _jobs.next_runs(job, injection)
    operate.upgrade(machine, PACKAGE, before)
    yield from _jobs.started_anew(job)
