"""The variables without which ranks on several nodes do not find each other or corrupt their memory."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import stated, variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("cluster.efa-fork-safe-unset", "cluster.root-comm-id-unset")


def propose(case: Case, finding: Finding | None) -> Answer:
    if finding is None or finding.fault == "cluster.efa-fork-safe-unset":
        return variable(case, "FI_EFA_FORK_SAFE", "1", "this kernel's libfabric needs it where processes fork")
    address = rewrite.read(case.spec, "master_addr") or case.facts.get("launch.master_addr")
    port = stated(case, "port") or 29500
    if not isinstance(address, str) or not address:
        return Refusal("the address of rank 0 is not known: NEURON_RT_ROOT_COMM_ID=<rank 0 address>:<free port> on every node")
    return variable(case, "NEURON_RT_ROOT_COMM_ID", f"{address}:{port + 1}", "where the root communicator is")


ACTION = Action("efa", "spec", "set the variables of multi-node runs", FAULTS, propose)
