"""Start the job again, from its last checkpoint that verifies. How long to wait before is for the supervisor."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Change
from neuronwatch.remedy.actions.stop import twice
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal
from neuronwatch.remedy.checkpoints import NAME

FAULTS = (
    "train.hang",
    "train.checkpoint-torn",
    "runtime.collective-peer-missing",
    "serve.worker-unresponsive",
    "env.host-memory-growth",
    "compile.killed-by-session-end",
    "train.save-on-device-hang",
)


def propose(case: Case, finding: Finding | None) -> Answer:
    """Where the command names the checkpoint that it goes on from, that becomes the newest one that verifies; a program that finds
    its checkpoint by itself is left alone."""
    if case.exit is not None and twice(case):
        return Refusal("it failed twice before its first step in the same way: a restart cannot help")
    spec, changes = case.spec, list[Change]()
    words = "end what is left of the run and start it again" if case.stall else "start it again"
    named = rewrite.read(spec, "resume")
    if case.checkpoints:
        best = case.checkpoints[0]
        words += f" from {best.path}" + (f" (step {best.step})" if best.step is not None else "")
        by_itself = named is None or str(named).lower() in ("true", "latest", "last", "auto")
        if named != best.path and (not by_itself or _torn_is_newer(case)):
            made = rewrite.write(spec, "resume", best.path, "the newest checkpoint that verifies")
            if isinstance(made, Refusal):
                words += f"; {case.survey.torn[0]} is torn: move it away, or {made.why}" if case.survey.torn else ""
            else:
                spec, change = made
                changes.append(change)
    return Proposal(words, tuple(changes), spec if changes else None, undo="nothing to undo")


def _torn_is_newer(case: Case) -> bool:
    """Whether a program that looks for the newest checkpoint would find one that does not verify."""
    return bool(case.survey.torn) and _step(case.survey.torn[0]) > _step(case.checkpoints[0].path)


def _step(path: str) -> int:
    found = NAME.fullmatch(path.rstrip("/").rsplit("/", 1)[-1])
    return int(found[1]) if found else -1


ACTION = Action("restart", "restart", "start the job again", FAULTS, propose, budget=50, cool_down=0.0, live=True, repeats=True)
