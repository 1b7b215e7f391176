"""A port that is free, for the rendezvous or the server."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact, variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("train.port-in-use",)


def propose(case: Case, finding: Finding | None) -> Answer:
    if (fact(case, "launch.nnodes") or 1) > 1 and case.facts.get("launch.program") in ("torchrun", "accelerate"):
        return Refusal("all nodes must be given the same port: choose another one on each of them")
    used = rewrite.number(rewrite.read(case.spec, "port"))
    free = next((port for port in case.survey.ports if port != used), None)
    if free is None:
        return Refusal("no free port is known")
    if rewrite.read_variable(case.spec, "MASTER_PORT", case.environ) is not None:
        return variable(case, "MASTER_PORT", str(free), f"port {free} is free")
    return argument(case, "port", free, f"port {free} is free" + (f", {used} is taken" if used else ""))


ACTION = Action("port", "spec", "use a free port", FAULTS, propose)
