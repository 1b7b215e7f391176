"""Another directory for the compile cache: one that can be written, on a local file system, or the one in which the graphs lie."""

from __future__ import annotations

import re

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("compile.cache-dir-unusable", "compile.storage-unsuitable", "compile.cache-path-mismatch")
_FLAG = re.compile(r"--cache_dir(?:=|\s+)\S+")


def propose(case: Case, finding: Finding | None) -> Answer:
    if finding is not None and finding.fault == "compile.cache-path-mismatch":
        place = case.facts.get("launch.cache_dir")
        words = "the cache in which the graphs were compiled before"
    else:
        place = case.survey.writable[0] if case.survey.writable else None
        words = "a directory on a local disk that this user may write"
    if not isinstance(place, str) or not place.startswith(("/", "s3://")):
        return Refusal("no directory for the cache is known that would be better")
    flags = rewrite.read_variable(case.spec, "NEURON_CC_FLAGS", case.environ)
    if flags and _FLAG.search(flags):  # it wins over the variable
        made = rewrite.write_variable(case.spec, "NEURON_CC_FLAGS", _FLAG.sub(lambda _: f"--cache_dir={place}", flags), words)
        return changed(f"{words}: {place}", made)
    if rewrite.read_variable(case.spec, "NEURON_COMPILE_CACHE_URL", case.environ) == place:
        return Refusal(f"the cache is in {place} already")
    return changed(f"{words}: {place}", rewrite.write_variable(case.spec, "NEURON_COMPILE_CACHE_URL", place, words))


ACTION = Action("cache-directory", "spec", "use another directory for the compile cache", FAULTS, propose)
