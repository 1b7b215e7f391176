"""compile.compiler-defect: an internal error of the compiler for one graph."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, _jobs
from neuronwatch.drill.machine import Machine

ID = "compile.compiler-defect"
WHAT = "A new graph meets a defect of the compiler, which stops with an internal code."
NEAR_MISS = "A new graph takes the compiler long, and it ends well."
SAYS = ("[INTERNAL_ERROR] [NCC_IXCG856] MATCH_REPLACE8 Instruction expects at least 8 input elements per partition - Please open a support "
        "ticket at https://github.com/aws-neuron/aws-neuron-sdk/issues/new.")  # fmt: skip


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    job = _jobs.training(machine)
    job.new_graphs(1)
    job.compile_seconds = 60.0 if injection.near_miss else 20.0
    job.compile_defect = "" if injection.near_miss else SAYS
    yield from _jobs.next_runs(job, injection)
    _jobs.forget_fresh(machine, job)
    yield from _jobs.started_anew(job)
