"""Lengths that fit: of the server's inputs, of its blocks, of the batches that a trainer compiles for."""

from __future__ import annotations

import re

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact, stated
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("serve.input-too-long", "serve.vllm-block-size", "serve.wrong-context-field")
_LENGTHS = re.compile(r"\b(\d{2,7})\b")


def propose(case: Case, finding: Finding | None) -> Answer:
    length = stated(case, "max_model_len") or stated(case, "sequence_length")
    if finding is not None and finding.fault == "serve.vllm-block-size":
        if length is None:
            return Refusal("the maximum length is not known: block size = maximum length")
        return argument(case, "block_size", length, f"block size {length}: this release needs that of the maximum length")
    if length is None:
        return Refusal("the command does not say the maximum length")
    longest = fact(case, "published.max_position_embeddings")
    seen = [int(text) for item in (finding.evidence if finding else ()) for text in _LENGTHS.findall(item.text)]
    wanted = next((2**n for n in range(24) if 2**n >= max(seen, default=length + 1) and 2**n > length), None)
    if wanted is None or (longest and wanted > longest):
        return Refusal(f"the model takes at most {longest} tokens: shorten the input")
    concept = "max_model_len" if rewrite.read(case.spec, "max_model_len") is not None else "sequence_length"
    return argument(case, concept, wanted, f"lengths up to {wanted} instead of {length}; compiled anew at the start")


ACTION = Action("buckets", "spec", "change the lengths that are compiled", FAULTS, propose)
