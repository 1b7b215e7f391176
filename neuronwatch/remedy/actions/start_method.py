"""Start workers by spawn instead of fork, where the launcher says how it starts them."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("data.fork-deadlock",)


def propose(case: Case, finding: Finding | None) -> Answer:
    if rewrite.read(case.spec, "start_method") != "fork":
        return Refusal('the command does not fork by choice; in the script: multiprocessing_context="spawn"')
    return argument(case, "start_method", "spawn", "workers are spawned, so that they inherit no locks")


ACTION = Action("start-method", "spec", "spawn workers instead of forking them", FAULTS, propose)
