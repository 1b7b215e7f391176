"""No more cores than the process can see; with fewer ranks the accumulation goes up where the global batch can stay."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import argument, fact, stated, variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("runtime.cores-exceed-available", "runtime.unsupported-core-topology", "serve.too-many-workers")


def propose(case: Case, finding: Finding | None) -> Answer:
    available = fact(case, "runtime.visible_count") or fact(case, "neuron.cores") or fact(case, "instance.cores")
    if not available:
        return Refusal("how many cores there are is not known")
    if finding is not None and finding.fault == "runtime.unsupported-core-topology":
        sizes = case.facts.get("instance.collective_cores")
        fitting = [size for size in sizes if isinstance(size, int) and size <= available] if isinstance(sizes, tuple) else []
        if not fitting:
            return Refusal("which core counts this instance's interconnect supports is not known")
        available = max(fitting)
    ranks, tp = stated(case, "nproc"), stated(case, "tp") or 1
    if ranks is not None and ranks > available:
        return _fewer_ranks(case, ranks, available // tp * tp if tp <= available else available)
    asked = rewrite.read_variable(case.spec, "NEURON_RT_NUM_CORES", case.environ)
    if asked and asked.isdigit() and int(asked) > available:
        return variable(case, "NEURON_RT_NUM_CORES", str(available), f"{available} cores are there, not {asked}")
    cores = stated(case, "num_cores")
    if cores is not None and cores > available:
        return argument(case, "num_cores", available, f"{available} cores are there, not {cores}")
    return Refusal(f"the command does not say that it wants more than {available} cores")


def _fewer_ranks(case: Case, ranks: int, fewer: int) -> Answer:
    words = f"{fewer} ranks for the cores that are there, not {ranks}"
    first = rewrite.write(case.spec, "nproc", fewer, words)
    if isinstance(first, Refusal):
        return Refusal(f"{first.why}; {words}")
    steps = stated(case, "grad_accum")
    if steps is None or ranks % fewer:
        return changed(f"{words}; the global batch changes", first)
    second = rewrite.write(first[0], "grad_accum", steps * ranks // fewer, "so that the global batch stays")
    return changed(f"{words}; the global batch changes", first) if isinstance(second, Refusal) else changed(words, first, second)


ACTION = Action("core-count", "spec", "ask for as many cores as there are", FAULTS, propose)
