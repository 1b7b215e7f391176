"""rope_theta back to the value that the base model was published with."""

from __future__ import annotations

import json
from typing import Any

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("train.rope-theta-mismatch",)


def propose(case: Case, finding: Finding | None) -> Answer:
    right, model = case.facts.get("published.rope_theta"), case.facts.get("published.name") or "the base model"
    if isinstance(right, bool) or not isinstance(right, (int, float)):
        return Refusal("the published value of the base model is not known")
    words = f"rope_theta of {model} as published: {right:g}"
    overrides = rewrite.read(case.spec, "overrides")
    if isinstance(overrides, str):
        made = _with_theta(overrides, float(right))
        if made is None:
            return Refusal(f"the override {overrides[:80]!r} does not name rope_theta; {words}")
        return changed(words, rewrite.write(case.spec, "overrides", made, words))
    if rewrite.read(case.spec, "rope_theta") == right:
        return Refusal(f"the command says {right:g} already: mend the config.json that is loaded")
    return argument(case, "rope_theta", float(right), words)


def _with_theta(text: str, right: float) -> str | None:
    """The JSON with every rope_theta in it set; None where there is none."""
    try:
        root: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    stack, found = [root], False
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "rope_theta" in item:
                item["rope_theta"], found = int(right) if right.is_integer() else right, True
            stack.extend(item.values())
    return json.dumps(root) if found else None


ACTION = Action("rope-theta", "spec", "set rope_theta to the published value", FAULTS, propose, live=True)
