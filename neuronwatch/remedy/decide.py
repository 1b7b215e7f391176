"""What to do about a job now: nothing, report, propose, act or stop. Pure: the case, the state and the policy in, a decision out.

Use, by the owner of a job:

    verified = verify(case, state, now)         # verify.py; after a remedy, at each turn and at the end of the run
    decision, state = decide(case, verified.state, policy, now)
    state = begin(state, case, decision, now)   # after an `act` was carried out

A `propose` comes again with the same id for as long as it waits; whatever else is told is told once a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from neuronwatch.model.dataclass import replace
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.digest import blake2b
from neuronwatch.model.records import Value
from neuronwatch.remedy import actions
from neuronwatch.remedy.api import Action, Case, Proposal, proposed
from neuronwatch.remedy.policy import DAY, Policy
from neuronwatch.remedy.state import ALL, Pending, State, Trial, told

Kind = Literal["nothing", "report", "propose", "act", "stop"]


class Decision(NamedTuple):
    """`proposal` None: there is nothing to do. `why`: one sentence. `shadow`: a report of what would have been done under `act`.
    `expires`: until when a proposal waits, seconds since the epoch."""

    kind: Kind
    fault: str = ""
    action: str = ""
    proposal: Proposal | None = None
    why: str = ""
    id: str = ""
    expires: float = 0.0
    shadow: bool = False


NOTHING = Decision("nothing")


def decide(case: Case, state: State, policy: Policy, now: float) -> tuple[Decision, State]:
    state = _tidy(state, now)
    if case.asked_to_end or (case.exit is not None and case.exit.ok):
        return NOTHING, replace(state, pending=None)
    if state.pending is not None:
        answered = _answered(case, state, policy, now)
        if answered is not None:
            return answered
    if state.trial is not None and case.exit is None and not case.stall:
        return NOTHING, state  # what was done last is being verified
    stopped, reports = _stop(case, policy), list[Decision]()
    if stopped is not None:
        return _once(stopped, case, state)
    for finding, action in _candidates(case):
        decision = _consider(case, state, policy, now, finding, action)
        if decision.kind == "propose":
            return decision, _pend(state, decision, case, now)
        if decision.kind == "act":
            return _because(decision, reports), replace(state, count=state.count + 1)
        if decision.kind == "report":
            reports.append(decision)
    for decision in reports:
        if _key(decision, case) not in state.said:
            return decision, told(state, _key(decision, case))
    return _rest(case, reports), state


def begin(
    state: State, case: Case, decision: Decision, now: float, record: dict[str, Value] | None = None, t_fault: float | None = None
) -> State:
    """After an `act` was carried out: it is being verified from the next run on (from now on where the run goes on). `record`: what
    the hands answered; `t_fault`: the first evidence of the fault."""
    proposal = decision.proposal
    if decision.kind != "act" or proposal is None:
        return state
    before, goes_on = state.trial, decision.proposal is not None and not decision.proposal.restart
    first = t_fault if t_fault is not None else case.exit.time if case.exit is not None else now
    trial = Trial(
        decision.id, decision.fault, decision.action, case.run + (0 if goes_on else 1), case.spec, now, first, case.progress.step,
        records=(record,) if record else (),
    )  # fmt: skip
    if before is not None and (before.action, before.fault) == (decision.action, decision.fault):
        trial = replace(trial, before=before.before, t_fault=before.t_fault, times=before.times + 1,
                        step=before.step, records=(*before.records, *trial.records))  # fmt: skip
    used = (*state.used.get(decision.action, ()), now)
    return replace(state, trial=trial, pending=None, used={**state.used, decision.action: used})


def _tidy(state: State, now: float) -> State:
    """Without what is older than a day."""
    used = {name: tuple(at for at in times if now - DAY < at <= now + DAY) for name, times in state.used.items()}
    declined = {key: until for key, until in state.declined.items() if until > now}
    return replace(state, used={name: times for name, times in used.items() if times}, declined=declined)


def _answered(case: Case, state: State, policy: Policy, now: float) -> tuple[Decision, State] | None:
    """What became of the proposal that waits; None: it waits, and something else is to be decided."""
    pending = state.pending
    assert pending is not None
    answer, action = case.answers.get(pending.id, ""), actions.named(pending.action)
    decision = Decision("propose", pending.fault, pending.action, pending.proposal, "", pending.id, pending.expires)
    key, gone = f"{pending.fault}|{pending.action}", replace(state, pending=None)
    if answer == "approve" and action is not None:
        barred = _barred(action, state)
        if barred:
            return decision._replace(kind="report", why=f"approved, but {barred}"), gone
        return decision._replace(kind="act", why="approved"), gone
    if answer == "decline":
        return decision._replace(kind="report", why="declined"), replace(gone, declined={**state.declined, key: now + DAY})
    if now >= pending.expires:
        why = "nobody answered in time"
        return decision._replace(kind="report", why=why), replace(gone, declined={**state.declined, key: now + policy.expires})
    if case.exit is not None and pending.fault and all(pending.fault != finding.fault for finding in case.findings):
        return None
    return decision._replace(why=f"waits for `neuronwatch approve {pending.id}`"), state


def _stop(case: Case, policy: Policy) -> Decision | None:
    """Where a restart cannot help, whatever the policy is; not where an action on the host may."""
    if case.exit is None:
        return None
    finding = next((item for item in causes(case) if item.fault in actions.STOP.faults), None)
    if finding is not None and any(action.name in policy.host for action in actions.of_fault(finding.fault)):
        return None
    answer = actions.STOP.propose(case, finding)
    if not isinstance(answer, Proposal):
        return None
    return Decision("stop", finding.fault if finding else "", actions.STOP.name, answer, answer.words)


def causes(case: Case) -> Iterator[Finding]:
    """The faults that are named, best first, each once."""
    seen = set()
    for finding in case.findings:
        if finding.role == "cause" and finding.fault and finding.fault not in seen:
            seen.add(finding.fault)
            yield finding


def _candidates(case: Case) -> Iterator[tuple[Finding | None, Action]]:
    """Actions in the order in which they are tried: those of the faults, then a restart of what ended or hangs."""
    tried = set()
    for finding in causes(case):
        for action in actions.of_fault(finding.fault):
            if action.kind != "stop":
                tried.add(action.name)
                yield finding, action
    if (case.exit is not None or case.stall) and actions.RESTART.name not in tried:
        yield next(iter(causes(case)), None), actions.RESTART


def _consider(case: Case, state: State, policy: Policy, now: float, finding: Finding | None, action: Action) -> Decision:
    fault = finding.fault if finding is not None else case.stall
    decision = Decision("nothing", fault, action.name, None, "", _id(case, state, fault, action), now + policy.expires)
    if now < state.declined.get(f"{fault}|{action.name}", 0.0):
        return decision
    answer = proposed(action, case, finding)
    if not isinstance(answer, Proposal):
        return decision._replace(kind="report", why=f"{action.title}: {answer.why}")
    decision = decision._replace(proposal=answer)
    again = state.trial is not None and (state.trial.fault, state.trial.action) == (fault, action.name)
    barred = _barred(action, state) or ("" if again else _braked(action, state, policy, now))
    if barred:
        return decision._replace(kind="report", why=barred)
    mode = policy.mode_of(action, fault, finding.confidence if finding is not None else 1.0)
    if mode == "observe" and action.kind == "host":
        return decision._replace(
            kind="report", why=f"it touches the host: only a policy file that enables {action.name} lets it ask"
        )
    if mode == "observe":
        return decision._replace(kind="report", why=f"the policy ({policy.source}) observes", shadow=True)
    if mode == "ask":
        return decision._replace(kind="propose", why=f"the policy ({policy.source}) asks")
    if case.exit is None and not case.stall and not action.live:
        return decision._replace(kind="report", why="the run makes progress: not worth ending it")
    return decision._replace(kind="act", why=answer.words)


def _barred(action: Action, state: State) -> str:
    """Why an action may not be carried out, whoever asks for it."""
    for name in (action.name, ALL):
        opened = state.breaker.get(name)
        if opened is not None:
            return f"the breaker of {action.name if name != ALL else 'all actions'} is open: {opened.why}"
    return ""


def _braked(action: Action, state: State, policy: Policy, now: float) -> str:
    used = state.used.get(action.name, ())
    budget, cool_down = policy.budget_of(action), policy.cool_down_of(action)
    if len(used) >= budget:
        return f"{action.name} was carried out {len(used)} times in a day, which is its budget"
    if used and 0 <= now - used[-1] < cool_down:
        return f"{action.name} was carried out {now - used[-1]:.0f} s ago; it cools down for {cool_down:.0f} s"
    return ""


def _rest(case: Case, reports: list[Decision]) -> Decision:
    """Nothing more can be done. Of a run that ended, the last that was considered says why."""
    return reports[-1]._replace(kind="nothing") if reports and case.exit is not None else NOTHING


def _because(decision: Decision, before: list[Decision]) -> Decision:
    """With what was considered first, and why it was not done."""
    said = "; ".join(f"not {item.action}: {item.why}" for item in before)
    return decision._replace(why=f"{decision.why} ({said})") if said else decision


def _pend(state: State, decision: Decision, case: Case, now: float) -> State:
    assert decision.proposal is not None
    pending = Pending(decision.id, decision.fault, decision.action, decision.proposal, case.run, now, decision.expires)
    return replace(state, pending=pending, count=state.count + 1)


def _once(decision: Decision, case: Case, state: State) -> tuple[Decision, State]:
    key = _key(decision, case)
    return (NOTHING if key in state.said else decision), told(state, key)


def _key(decision: Decision, case: Case) -> str:
    return f"{case.run}|{decision.kind}|{decision.fault}|{decision.action}|{decision.why[:60]}"


def _id(case: Case, state: State, fault: str, action: Action) -> str:
    """Eight hex digits, other ones for each decision of a job."""
    text = f"{case.spec.name}|{case.run}|{state.count}|{fault}|{action.name}"
    return blake2b(text.encode(), digest_size=4).hexdigest()
