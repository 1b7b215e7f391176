"""Move aside entries of the compile cache that are replayed although they are no good: failed, empty, of another compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy import cache
from neuronwatch.remedy.api import Action, Answer, CacheEntry, Case, Proposal, Refusal, RemedyError

FAULTS = ("compile.cached-failure", "compile.silent-empty-neff", "compile.cache-polluted", "serve.artifact-environment-mismatch")
STATES: Mapping[str, tuple[str, ...]] = {
    "compile.cached-failure": ("failed",),
    "compile.silent-empty-neff": ("empty-neff", "empty", "done-without-neff"),
    "compile.cache-polluted": ("failed", "empty-neff", "done-without-neff"),
    "serve.artifact-environment-mismatch": ("foreign",),
}
MOST = 500


def propose(case: Case, finding: Finding | None) -> Answer:
    fault = finding.fault if finding is not None else ""
    named = [entry for entry in case.survey.cache if _named(entry, finding)]
    entries = named or [entry for entry in case.survey.cache if entry.state in STATES.get(fault, ())]
    if not entries:
        return Refusal(f"no such entry is in the cache {case.survey.cache_root}")
    if len(entries) > MOST:
        return Refusal(f"{len(entries)} entries: that is no single mishap; use another cache directory")
    states = ", ".join(sorted({entry.state for entry in entries}))
    words = f"move {len(entries)} entries of the compile cache aside ({states}), so that they are compiled anew"
    paths = tuple(entry.path for entry in entries)
    hand: dict[str, Value] = {"root": case.survey.cache_root, "paths": paths, "why": f"{fault}: {states}"}
    return Proposal(words, hand=hand, undo="`neuronwatch cache restore`: they are moved back")


def _named(entry: CacheEntry, finding: Finding | None) -> bool:
    """Whether the evidence names this entry."""
    name = entry.path.rsplit("/", 1)[-1]
    return finding is not None and any(name in item.text for item in finding.evidence)


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    root, paths = hand["root"], hand["paths"]
    if not isinstance(root, str) or not isinstance(paths, tuple):
        raise RemedyError("no entries are named")
    there = [Path(str(path)) for path in paths if Path(str(path)).is_dir()]
    if not there:
        raise RemedyError("the entries are not there any more")
    return {"root": root, "id": cache.move_aside(Path(root), there, str(hand.get("why", ""))).id}


def undo(record: Mapping[str, Value]) -> str:
    back, left = cache.restore(Path(str(record["root"])), str(record["id"]))
    return f"{len(back)} moved back" + (f"; not: {'; '.join(left[:3])}" if left else "")


ACTION = Action("quarantine-entry", "cache", "move bad entries of the compile cache aside", FAULTS, propose, apply, undo)
