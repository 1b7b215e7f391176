"""The cores that a process may use: all of the host's where the launcher shows too few, free ones where others are held."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import fact, stated, variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("cluster.launcher-hides-cores", "runtime.cores-busy", "runtime.noncontiguous-devices", "serve.single-core-used")
NAME = "NEURON_RT_VISIBLE_CORES"


def propose(case: Case, finding: Finding | None) -> Answer:
    cores = fact(case, "neuron.cores") or fact(case, "instance.cores")
    if finding is not None and finding.fault in ("cluster.launcher-hides-cores", "serve.single-core-used"):
        if not cores:
            return Refusal("how many cores the host has is not known")
        return variable(case, NAME, _range(0, cores), f"all {cores} cores of the host")
    needed = stated(case, "nproc") or stated(case, "num_cores") or stated(case, "tp") or 1
    if case.survey.cores is None:
        return Refusal("which cores are free is not known")
    first = _run_of(case.survey.cores, needed)
    if first is None:
        return Refusal(f"no {needed} neighbouring cores are free")
    if rewrite.read_variable(case.spec, NAME, case.environ) == _range(first, needed):
        return Refusal(f"it uses cores {_range(first, needed)} already")
    return variable(case, NAME, _range(first, needed), f"{needed} neighbouring cores that nobody holds")


def _range(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _run_of(cores: tuple[int, ...], count: int) -> int | None:
    """The first of so many neighbouring cores, at a multiple of their number: those of one device belong together."""
    free = set(cores)
    return next((core for core in sorted(free) if core % count == 0 and all(core + n in free for n in range(count))), None)


ACTION = Action("visible-cores", "spec", "use other cores of the host", FAULTS, propose)
