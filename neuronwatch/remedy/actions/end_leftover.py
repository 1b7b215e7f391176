"""End what an earlier job of this user left behind and that holds cores or the port. Nothing else is ever ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy import leftovers
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal, RemedyError

FAULTS = ("runtime.cores-busy", "train.port-in-use", "env.driver-reload-blocked")


def propose(case: Case, finding: Finding | None) -> Answer:
    if not case.survey.holders:
        return Refusal("nobody is seen to hold it")
    ours = [holder for holder in case.survey.holders if holder.ours]
    if not ours:
        other = case.survey.holders[0]
        return Refusal(f"process {other.pid} ({other.command[:60]}) holds {other.holds}, and nothing proves that it is ours to end")
    said = "; ".join(f"{holder.pid} holds {holder.holds}, {holder.ours}" for holder in ours[:3])
    pids = tuple((holder.pid, holder.start) for holder in ours)
    hand: dict[str, Value] = {"pids": pids, "jobs": case.survey.jobs, "mark": case.survey.mark}
    return Proposal(f"end {len(ours)} processes that are left over: {said}", hand=hand, undo="irreversible: a process is ended")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    pids = hand["pids"]
    if not isinstance(pids, tuple) or not isinstance(hand.get("jobs"), str):
        raise RemedyError("no processes are named")
    done = []
    for pair in pids:
        pid, start = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, None)
        if isinstance(pid, int) and isinstance(start, int):
            done.append(leftovers.end(pid, start, Path(str(hand["jobs"])), str(hand.get("mark", ""))))
    return {"done": tuple(done)}


def undo(record: Mapping[str, Value]) -> str:
    return "irreversible: " + "; ".join(map(str, record["done"] if isinstance(record["done"], tuple) else ()))


ACTION = Action("end-leftover", "process", "end what an earlier job left behind", FAULTS, propose, apply, undo)
