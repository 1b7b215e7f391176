"""As many data workers as the host can carry: fewer where there are too many or where forked ones hang, more where cores wait."""

from __future__ import annotations

from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact, stated
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("data.num-proc-oversubscription", "data.fork-deadlock", "data.input-starvation")
MOST = 8
"""Workers of one process beyond which reading rarely gets quicker."""


def propose(case: Case, finding: Finding | None) -> Answer:
    fault = finding.fault if finding is not None else ""
    ranks = stated(case, "nproc") or 1
    cpus = fact(case, "cgroup.cpus") or fact(case, "host.vcpus") or fact(case, "instance.vcpus")
    share = max(1, min(MOST, cpus // ranks)) if cpus else None
    if fault == "data.input-starvation":
        workers = stated(case, "num_workers")
        if workers is None or share is None or workers >= share:
            return Refusal("the loader has as many workers as the host can carry, or how many is not known")
        return argument(case, "num_workers", share, f"{share} loader workers for each of {ranks} ranks on {cpus} CPUs")
    for concept, words in (("num_proc", "preprocessing processes"), ("num_workers", "loader workers of a rank")):
        number = stated(case, concept)
        if number is None or number <= 1:
            continue
        if fault == "data.fork-deadlock":
            least = 1 if concept == "num_proc" else 0
            return argument(case, concept, least, f"{words} {number} to {least}: nothing is forked")
        fewer = min(number // 2, share if share is not None else number // 2)
        return argument(case, concept, max(1, fewer), f"{words} {number} to {max(1, fewer)}")
    return Refusal("the command does not say how many data workers there are; use num_proc=1 and dataloader_num_workers=0")


ACTION = Action("workers", "spec", "change the number of data workers", FAULTS, propose, repeats=True)
