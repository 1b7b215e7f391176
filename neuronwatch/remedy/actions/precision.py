"""bf16 instead of fp16 where gradients vanish or the loss became NaN; no cast of the whole graph to bf16."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("train.fp16-gradient-underflow", "train.loss-nan", "train.bf16-downcast-everything", "train.nan-bf16-mask-fill")
CASTS = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")


def propose(case: Case, finding: Finding | None) -> Answer:
    if finding is not None and finding.fault in FAULTS[2:]:
        return _no_cast(case)
    words = "bf16 has the range of fp32: gradients do not vanish as in fp16"
    if rewrite.flag(rewrite.read(case.spec, "fp16")) is True:
        off = rewrite.write(case.spec, "fp16", False, "no fp16")
        return off if isinstance(off, Refusal) else changed(words, off, rewrite.write(off[0], "bf16", True, words))
    if str(rewrite.read(case.spec, "precision")).lower() in ("fp16", "float16", "half"):
        return changed(words, rewrite.write(case.spec, "precision", "bf16", words))
    return Refusal("the command does not train in fp16; look at the learning rate, the data of that step, and max_grad_norm")


def _no_cast(case: Case) -> Answer:
    spec, steps = case.spec, list[rewrite.Rewritten]()
    words = "the graph is not cast as a whole: parts that need fp32 keep it; use bf16 of the trainer"
    for name in CASTS:
        if rewrite.read_variable(spec, name, case.environ) in ("1", "true", "True"):
            made = rewrite.write_variable(spec, name, None, words)
            if isinstance(made, Refusal):
                return made
            steps.append(made)
            spec = made[0]
    return changed(words, *steps) if steps else Refusal("no variable of this job casts the graph; look in the script")


ACTION = Action("precision", "spec", "train in a precision that carries the numbers", FAULTS, propose)
