"""The largest tensor-parallel degree not above the present one that divides what it must divide."""

from __future__ import annotations

from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact, stated
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("train.parallel-degree-indivisible",)
HEADS = ("config.num_attention_heads", "published.num_attention_heads")
KV_HEADS = ("config.num_key_value_heads", "published.num_key_value_heads")


def propose(case: Case, finding: Finding | None) -> Answer:
    degree = stated(case, "tp")
    if degree is None:
        return Refusal("the command does not say the tensor-parallel degree")
    heads = next((value for name in HEADS if (value := fact(case, name))), None)
    kv_heads = next((value for name in KV_HEADS if (value := fact(case, name))), None)
    ranks = stated(case, "nproc")
    if heads is None and ranks is None:
        return Refusal("neither the heads of the model nor the number of ranks is known")
    for smaller in range(degree, 0, -1):
        divides = all(number % smaller == 0 for number in (heads, ranks) if number)
        if divides and (not kv_heads or kv_heads % smaller == 0 or smaller % kv_heads == 0):
            if smaller == degree:
                return Refusal(f"{degree} divides heads and ranks: something else is wrong")
            said = ", ".join(f"{n} {w}" for n, w in ((heads, "heads"), (kv_heads, "key-value heads"), (ranks, "ranks")) if n)
            return argument(case, "tp", smaller, f"{smaller} divides {said}; {degree} does not")
    return Refusal("no degree divides them")


ACTION = Action("tp-degree", "spec", "use a tensor-parallel degree that divides", FAULTS, propose)
