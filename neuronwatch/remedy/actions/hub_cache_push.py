"""optimum-neuron pushes its compile cache to the Hub at the end of a training; without a network that ends in a traceback."""

from __future__ import annotations

from neuronwatch.dialect import hf_trainer, nxd, rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("env.hub-access-denied",)


def propose(case: Case, finding: Finding | None) -> Answer:
    if case.online is not False and not _at_the_end(case):
        return Refusal("the Hub can be reached, or whether it can is not known")
    if rewrite.flag(rewrite.read(case.spec, "skip_cache_push")) is True:
        return Refusal("the cache is not pushed already")
    if not _is_optimum(case):
        return Refusal("no trainer of optimum-neuron that is known; skip_cache_push=True in NeuronTrainingArguments")
    words = "the compile cache is not pushed to the Hub, which cannot be reached"
    made = rewrite.write(case.spec, "skip_cache_push", True, words)
    if isinstance(made, Refusal):
        return Refusal(f"{made.why}; skip_cache_push=True in NeuronTrainingArguments")
    return changed(words, made)


def _is_optimum(case: Case) -> bool:
    """Whether the script takes NeuronTrainingArguments: those of the Trainer and of its parallelism together."""
    found = rewrite.levels(case.spec.argv)
    return bool(found) and hf_trainer.speaks(found[-1].words) and nxd.speaks(found[-1].words)


def _at_the_end(case: Case) -> bool:
    """Whether the run failed after its last step: then it was the push."""
    return case.progress.step is not None and case.progress.step == case.progress.max_steps


ACTION = Action("hub-cache-push", "spec", "do not push the compile cache to the Hub", FAULTS, propose)
