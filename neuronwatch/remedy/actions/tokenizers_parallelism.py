"""TOKENIZERS_PARALLELISM=false: a fork after the tokenizer has started its threads can wait for a lock for ever."""

from __future__ import annotations

from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import variable
from neuronwatch.remedy.api import Action, Answer, Case

FAULTS = ("data.fork-deadlock", "data.num-proc-oversubscription")


def propose(case: Case, finding: Finding | None) -> Answer:
    return variable(case, "TOKENIZERS_PARALLELISM", "false", "the tokenizer starts no threads before the workers are forked")


ACTION = Action("tokenizers-parallelism", "spec", "switch the tokenizer's own threads off", FAULTS, propose)
