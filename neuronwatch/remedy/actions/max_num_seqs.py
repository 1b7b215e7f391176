"""How many requests a server takes at once: more where they wait, fewer where memory ends."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = (
    "serve.max-batch-size-unset",
    "serve.concurrency-at-limit",
    "serve.batch-config-mismatch",
    "runtime.hbm-capacity-exceeded",
)
FIRST, MOST = 8, 256


def propose(case: Case, finding: Finding | None) -> Answer:
    fault = finding.fault if finding is not None else ""
    number = rewrite.number(rewrite.read(case.spec, "max_num_seqs"))
    if number is None:
        number = fact(case, "launch.max_num_seqs")
    if fault == "runtime.hbm-capacity-exceeded":
        if number is None or number <= 1:
            return Refusal("the server takes one request at a time already, or how many is not known")
        return argument(case, "max_num_seqs", number // 2, f"{number // 2} requests at once instead of {number}: less memory")
    compiled = fact(case, "artifact.batch_size")
    if compiled:
        if number == compiled:
            return Refusal(f"the compiled model takes {compiled} requests at once: export it with a larger batch")
        return argument(case, "max_num_seqs", compiled, f"{compiled}, as the model was compiled")
    if fault == "serve.batch-config-mismatch":
        return Refusal("the batch size that the model was compiled with is not known: give the server that one")
    more = FIRST if number is None or number <= 1 else min(MOST, number * 2)
    if number is not None and number >= MOST:
        return Refusal(f"{number} requests at once: add servers instead")
    return argument(case, "max_num_seqs", more, f"{more} requests at once instead of {number or 1}")


ACTION = Action("max-num-seqs", "spec", "change how many requests are served at once", FAULTS, propose, repeats=True)
