"""Start the job again, from its last checkpoint that verifies. How long to wait before is for the supervisor."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Change
from neuronwatch.remedy.actions.stop import twice
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal

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
        if isinstance(named, str) and named.lower() not in ("true", "latest", "last", "auto") and named != best.path:
            made = rewrite.write(spec, "resume", best.path, "the newest checkpoint that verifies")
            if not isinstance(made, Refusal):
                spec, change = made
                changes.append(change)
    return Proposal(words, tuple(changes), spec if changes else None, undo="nothing to undo")


ACTION = Action("restart", "restart", "start the job again", FAULTS, propose, budget=50, cool_down=0.0, live=True, repeats=True)
