"""Whether a remedy helped. Pure. One that did not is undone, and its breaker opens until a person closes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuronwatch.model.dataclass import replace
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import JobSpec
from neuronwatch.model.records import Value
from neuronwatch.remedy import actions
from neuronwatch.remedy.api import Action, Case, Proposal, Verdict, proposed
from neuronwatch.remedy.state import Open, Recovered, State, Trial

BEFORE_THE_WORK = ("import", "data", "trace", "compile", "load", "warmup")
"""Phases in which a job cannot have shown yet that it works."""
MOST_TIMES = 8


class Undo(NamedTuple):
    """What is to be undone: `spec` is the one to go back to (None: not changed), `records` what the hands did, newest first."""

    action: str
    spec: JobSpec | None
    records: tuple[Mapping[str, Value], ...]


class Verified(NamedTuple):
    """`undo`: only where it did not help. `seconds`: from the first evidence to the recovery. `again`: one step was not enough, the
    next one of the same remedy may follow (`decide` says which)."""

    verdict: Verdict
    state: State
    why: str = ""
    undo: Undo | None = None
    seconds: float | None = None
    again: bool = False


def verify(case: Case, state: State, now: float) -> Verified:
    """Of what is being verified; `pending` with an empty `why` where nothing is."""
    trial = state.trial
    if trial is None or case.run < trial.run:
        return Verified("pending", state)
    action = actions.named(trial.action)
    if action is None:
        return _failed(case, state, trial, f"there is no action {trial.action!r} any more", now)
    verdict, why = _judge(case, trial, action, now)
    if verdict == "helped":
        return _helped(state, trial, why, now)
    if verdict == "did not help":
        refused = now < state.declined.get(f"{trial.fault}|{trial.action}", 0.0)  # a person did not want the next step
        further = action.repeats and trial.times < MOST_TIMES and not refused
        if further and isinstance(proposed(action, case, _finding(case, trial)), Proposal):
            return Verified("pending", state, f"{why}; a further step may help", again=True)
        return _failed(case, state, trial, why, now)
    return Verified("pending", state, why)


def _judge(case: Case, trial: Trial, action: Action, now: float) -> tuple[Verdict, str]:
    fresh = case.run > trial.run or case.began >= trial.began
    if fresh and _finding(case, trial) is not None:
        return "did not help", f"{trial.fault} is there again"
    if case.stall:
        return "did not help", f"the run hangs ({case.stall})"
    if case.exit is not None and case.asked_to_end:
        return "pending", "a person ended the run"
    if case.exit is not None and (case.exit.ok or (fresh and case.made_step)):
        return "helped", "the run is done" if case.exit.ok else "the run made steps without the fault"
    if case.exit is not None:
        return "did not help", "the run ended before its first step"
    own = action.verified(case) if action.verified is not None else None
    if own is not None:
        return ("helped", "its postcondition holds") if own else ("did not help", "its postcondition does not hold")
    step, before = case.progress.step, trial.step
    if step is not None and fresh and (before is None or action.kind == "restart" or step > before):
        return "helped", f"step {step} was made without the fault"
    if not fresh and (case.progress.moved or 0.0) > trial.began:
        return "helped", "the run goes on"
    if case.progress.phase == "serve" and fresh:
        return "helped", "it serves without the fault"
    if step is None and case.progress.phase not in BEFORE_THE_WORK and fresh and now - case.began >= case.spec.settled:
        return "helped", f"it lives for {now - case.began:.0f} s without the fault (no step is known)"
    return "pending", "no step yet"


def _finding(case: Case, trial: Trial) -> Finding | None:
    """The fault, where it is there (again)."""
    return next((item for item in case.findings if item.fault == trial.fault and item.role == "cause"), None)


def _helped(state: State, trial: Trial, why: str, now: float) -> Verified:
    seconds = max(0.0, now - trial.t_fault)
    before = state.recovered.get(trial.fault, Recovered())
    after = Recovered(before.count + 1, before.total + seconds, max(before.worst, seconds))
    made = replace(state, trial=None, recovered={**state.recovered, trial.fault: after})
    return Verified("helped", made, why, seconds=seconds)


def _failed(case: Case, state: State, trial: Trial, why: str, now: float) -> Verified:
    opened = {
        **state.breaker,
        trial.action: Open(now, f"it did not help against {trial.fault or 'the failure'}: {why}", trial.fault),
    }
    spec = trial.before if trial.before != case.spec else None
    undo = Undo(trial.action, spec, trial.records[::-1])
    return Verified("did not help", replace(state, trial=None, breaker=opened), why, undo)
