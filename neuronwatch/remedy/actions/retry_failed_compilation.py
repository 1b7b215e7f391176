"""`--retry_failed_compilation` for the compiler's wrapper: a failure in the cache is not replayed but tried once more."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("compile.cached-failure",)
FLAG = "--retry_failed_compilation"


def propose(case: Case, finding: Finding | None) -> Answer:
    flags = rewrite.read_variable(case.spec, "NEURON_CC_FLAGS", case.environ) or ""
    if FLAG in flags.split():
        return Refusal("failed compiles are tried again already: the compile fails anew")
    return variable(case, "NEURON_CC_FLAGS", f"{flags} {FLAG}".strip(), "a failed compile in the cache is tried once more")


ACTION = Action("retry-failed-compilation", "spec", "compile again what failed before", FAULTS, propose)
