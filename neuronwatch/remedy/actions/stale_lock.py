"""Move a lock of the compile cache aside that no compiler holds any more; who waits for it goes on without a restart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy import cache, locks
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal, RemedyError

FAULTS = ("compile.stale-lock",)


def propose(case: Case, finding: Finding | None) -> Answer:
    stale = [lock for lock in case.survey.locks if not lock.why_alive]
    if not stale:
        alive = next((f"{lock.path}: {lock.why_alive}" for lock in case.survey.locks), f"there is none in {case.survey.cache_root}")
        return Refusal(f"no lock is proved to be stale ({alive})")
    words = f"move {len(stale)} locks aside that no process holds (the oldest {max(lock.age for lock in stale) / 60:.0f} min old)"
    hand: dict[str, Value] = {"root": case.survey.cache_root, "paths": tuple(lock.path for lock in stale)}
    return Proposal(words, hand=hand, restart=case.exit is not None, undo="`neuronwatch cache restore`: they are moved back")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    root, paths = hand["root"], hand["paths"]
    if not isinstance(root, str) or not isinstance(paths, tuple):
        raise RemedyError("no locks are named")
    ids, left = [], []
    for path in paths:
        try:
            ids.append(locks.move_aside(Path(root), Path(str(path)), "a stale lock").id)
        except RemedyError as error:
            left.append(str(error))
    if not ids:
        raise RemedyError("; ".join(left[:3]) or "no locks are named")
    return {"root": root, "ids": tuple(ids), "left": tuple(left)}


def undo(record: Mapping[str, Value]) -> str:
    ids = record["ids"]
    count = sum(len(cache.restore(Path(str(record["root"])), str(name))[0]) for name in (ids if isinstance(ids, tuple) else ()))
    return f"{count} locks moved back"


ACTION = Action("stale-lock", "cache", "move a stale lock of the compile cache aside", FAULTS, propose, apply, undo, live=True)
