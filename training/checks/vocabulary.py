"""The tokenizer against the embedding: an id outside of it is a wild read on a device, without an error."""

from __future__ import annotations

from checks import Problem, Seen


def check(seen: Seen) -> list[Problem]:
    rows = seen.model.get_input_embeddings().weight.shape[0]
    found = []
    if len(seen.tokenizer) > rows:
        wrong = f"the tokenizer has {len(seen.tokenizer)} ids, the embedding {rows} rows"
        found.append(Problem(wrong, "take tokenizer and weights of the same checkpoint"))
    ends = seen.model.config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    if seen.tokenizer.eos_token_id is not None and ends != [None] and seen.tokenizer.eos_token_id not in ends:
        wrong = f"the tokenizer ends with id {seen.tokenizer.eos_token_id}, the model's config with {ends}: it would not stop"
        found.append(Problem(wrong, "take tokenizer and config.json of the same checkpoint"))
    return found
