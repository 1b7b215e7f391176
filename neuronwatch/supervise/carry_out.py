"""What is done about a job: each case is verified and decided (`remedy/`), told, written down, carried out and, where it did
not help, undone. The owner brings the cases and starts the runs; all of it is on disk before it counts: an owner may be killed at
any moment, and the next one goes on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import JobSpec
from neuronwatch.model.records import Value
from neuronwatch.remedy import actions, entries
from neuronwatch.remedy.api import Case, Proposal, RemedyError
from neuronwatch.remedy.audit import Audit
from neuronwatch.remedy.decide import Decision, begin, decide
from neuronwatch.remedy.desk import Desk
from neuronwatch.remedy.policy import Policy
from neuronwatch.remedy.state import ALL, State
from neuronwatch.remedy.verify import Undo, Verified, verify
from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.story import Remedy

MOST_AT_ONCE = 40
"""Decisions of one case; each is told once."""
AFTER_FAILED_HANDS = 3600.0


def begin_anew(directory: JobDirectory, before: JobSpec | None, after: JobSpec) -> None:
    """Another command under the name of the job: what was changed of the one before, and what waits for it, is nothing to it. What
    a person changed is written down, to be compared with what would have been done."""
    if before is not None:
        with contextlib.suppress(OSError):
            Audit(directory.path).append("person", time.time(), entries.of_command(before, after))
    with contextlib.suppress(FileNotFoundError):
        (directory.path / "current.json").rename(directory.path / f"current.json.before-{time.time_ns()}")
    desk = Desk(directory.path)
    state = desk.load(time.time())
    if state.trial is not None or state.pending is not None:
        desk.save(replace(state, trial=None, pending=None))


class Todo(NamedTuple):
    """What the owner does now. `wait`: for a person, until `decision.expires`. `act`: end the run where it lives and the proposal
    says so, `carry_out`, start. `undone`: the spec was set back: a run that lives with the other one is to be started again."""

    kind: Literal["nothing", "wait", "act", "stop"]
    decision: Decision
    undone: bool = False


class Carrying:
    """The remedies of one job. `spec` is what runs next. Raises JobError where the spec of the job is torn."""

    def __init__(self, directory: JobDirectory, asked: JobSpec, policy: Policy, say: Callable[[str], None]) -> None:
        self.asked, self.policy, self._say = asked, policy, say
        self.spec = directory.current() or asked
        self.remedies: list[Remedy] = []
        """What was tried since this owner began, for the report."""
        self._directory = directory
        self._desk, self._audit = Desk(directory.path), Audit(directory.path)
        self.state: State = self._desk.load(time.time())
        for name, opened in self.state.breaker.items():
            if name == ALL:
                self._say(
                    f"job {directory.name}: nothing is done about it: {opened.why} (`neuronwatch breaker close {directory.name}`)"
                )

    def note(self, kind: str, told: Mapping[str, object]) -> bool:
        """A line of the audit log; False where it cannot be written."""
        try:
            self._audit.append(kind, time.time(), told)
        except OSError as error:
            self._say(f"job {self._directory.name}: the audit log cannot be written: {error.strerror or error}")
            return False
        return True

    @property
    def restarts_at_once(self) -> bool:
        """Whether a run that was killed may be started again before anything is judged."""
        barred = {actions.RESTART.name, ALL} & set(self.state.breaker)
        free = self.state.trial is None and self.state.pending is None and not barred
        return free and self.policy.mode_of(actions.RESTART, "") == "act"

    def restarted_at_once(self, case: Case, why: str) -> None:
        """Writes down what was done already."""
        decision = Decision("act", "", actions.RESTART.name, Proposal("start it again", undo="nothing to undo"), why,
                            f"{case.run:08x}"[-8:])  # fmt: skip
        self.note("decision", entries.of_decision(case, decision, case.exit.time if case.exit else None))
        # Begun when the run before ended: the next one, which lives by now, is the one that shows whether it helped.
        self._keep(begin(self.state, case, decision, case.exit.time if case.exit else time.time()))
        self._began(case, decision)

    def consider(self, case: Case) -> Todo:
        """Verifies what was done, and decides what is to be done. What is only reported was reported when this returns."""
        now = time.time()
        state, answers, closed = self._desk.heard(self.state)
        for name in closed:
            self.note("breaker", {"closed": name})
        case, waiting = replace(case, answers=answers), state.pending
        trial = state.trial
        verified = verify(case, state, now)
        state, undone = verified.state, False
        if verified.verdict != "pending" and trial is not None:
            self._verified(case, verified, trial.action, trial.fault, trial.id)
            if verified.undo is not None:
                undone = self._undo(verified.undo)
                case = replace(case, spec=self.spec)
        decision = Decision("nothing")
        for _ in range(MOST_AT_ONCE):
            decision, state = decide(case, state, self.policy, now)
            if decision.kind != "report":
                break
            self._report(case, decision)
        self._keep(state)
        if waiting is not None and (state.pending is None or state.pending.id != waiting.id) and waiting.id in answers:
            self._desk.done(waiting.id)
        return self._todo(case, decision, waiting.id if waiting is not None else "", undone)

    def _todo(self, case: Case, decision: Decision, waited: str, undone: bool) -> Todo:
        name = self._directory.name
        if decision.kind == "propose":
            if decision.id != waited and decision.proposal is not None:
                self.note("decision", entries.of_decision(case, decision))
                self._say(f"job {name}: proposed {decision.action}: {decision.proposal.words}; "
                          f"`neuronwatch approve {decision.id}` or `decline {decision.id}`")  # fmt: skip
                self._add(case, decision, "proposed")
            return Todo("wait", decision, undone)
        if decision.kind == "stop":
            self.note("decision", entries.of_decision(case, decision))
            return Todo("stop", decision, undone)
        return Todo("act" if decision.kind == "act" else "nothing", decision, undone)

    def carry_out(self, case: Case, decision: Decision) -> bool:
        """Changes the spec, or lets the hands do it; False where it could not be done, and that was said. The run has ended by now
        where the proposal asks for it."""
        proposal, now = decision.proposal, time.time()
        assert proposal is not None
        if not self.note("decision", entries.of_decision(case, decision, self._t_fault(case, now))):
            self._put_off(decision, now)
            return False  # what cannot be written down is not done
        record: dict[str, Value] | None = None
        action = actions.named(decision.action)
        if action is not None and action.apply is not None:
            try:
                record = dict(action.apply(proposal.hand))
            except (RemedyError, OSError) as error:
                self._say(f"job {self._directory.name}: {decision.action} failed: {error}")
                self.note("failed", {"id": decision.id, "action": decision.action, "why": str(error)})
                self._put_off(decision, now)
                return False
        self._say(f"job {self._directory.name}: {decision.action}: {proposal.words}"
                  + "".join(f"; {item.name} {_shown(item.old)} -> {_shown(item.new)}" for item in proposal.changes))  # fmt: skip
        # The state first: an owner that is killed in between finds a trial whose spec is not there yet, and does it again.
        self._keep(begin(self.state, case, decision, now, record, self._t_fault(case, now)))
        if proposal.spec is not None:
            self._use(proposal.spec)
        self._began(case, decision)
        return True

    def _put_off(self, decision: Decision, now: float) -> None:
        """It is not tried again for a while."""
        key = f"{decision.fault}|{decision.action}"
        self._keep(replace(self.state, declined={**self.state.declined, key: now + AFTER_FAILED_HANDS}, pending=None))

    def over(self) -> None:
        """The job is over: what is still being verified is told as it is."""
        self.remedies = [item._replace(result="pending") if item.result == "" else item for item in self.remedies]

    def _t_fault(self, case: Case, now: float) -> float:
        return case.exit.time if case.exit is not None and case.exit.time else now

    def _report(self, case: Case, decision: Decision) -> None:
        self.note("decision", entries.of_decision(case, decision))
        name, would = self._directory.name, "would have done" if decision.shadow else "not done"
        words = f": {decision.proposal.words}" if decision.proposal is not None else ""
        about = f" for {decision.fault}" if decision.fault else ""
        if decision.proposal is not None or decision.fault:
            self._say(f"job {name}: {would}: {decision.action}{about}{words} ({decision.why})")
        if decision.why in ("declined", "nobody answered in time"):
            self._settle(decision.id, "declined" if decision.why == "declined" else "expired", decision.why)

    def _verified(self, case: Case, verified: Verified, action: str, fault: str, id: str) -> None:
        self.note("verified", entries.of_verified(case, verified, action, fault, id))
        took = f" after {verified.seconds:.0f} s" if verified.seconds is not None else ""
        self._say(f"job {self._directory.name}: {action} {verified.verdict}{took}: {verified.why}")
        self._settle(id, verified.verdict, verified.why, time.time() if verified.verdict == "helped" else None)

    def _undo(self, undo: Undo) -> bool:
        """Whether the spec was set back."""
        action, said = actions.named(undo.action), list[str]()
        for record in undo.records:
            if action is None or action.undo is None:
                continue
            try:
                said.append(action.undo(record))
            except (RemedyError, OSError) as error:
                said.append(f"could not be undone: {error}")
        if undo.spec is not None:
            self._use(undo.spec)
            said.append("the spec is as it was before")
        if said:
            self._say(f"job {self._directory.name}: {undo.action} undone: {'; '.join(said)}")
        self.note("undo", {"action": undo.action, "did": said, "spec": undo.spec is not None})
        self._say(f"job {self._directory.name}: the breaker of {undo.action} is open until "
                  f"`neuronwatch breaker close {self._directory.name} {undo.action}`")  # fmt: skip
        return undo.spec is not None

    def _use(self, spec: JobSpec) -> None:
        self._directory.write_spec(spec, "current.json")
        self.spec = spec

    def _keep(self, state: State) -> None:
        if state != self.state:
            self.state = state
            with contextlib.suppress(OSError):  # a full disk: it is in memory, and the audit log said it or could not either
                self._desk.save(state)

    def _began(self, case: Case, decision: Decision) -> None:
        known = next((item for item in self.remedies if item.id == decision.id), None)
        if known is not None:
            self.remedies[self.remedies.index(known)] = known._replace(result="")
            return
        if self.state.trial is not None and self.state.trial.times > 1:
            self.remedies = [item._replace(result="did not help", why="a further step followed") if item.result == "" else item
                             for item in self.remedies]  # fmt: skip
        self._add(case, decision, "")

    def _add(self, case: Case, decision: Decision, result: str) -> None:
        now, proposal = time.time(), decision.proposal
        changes = proposal.changes if proposal is not None else ()
        self.remedies.append(Remedy(decision.fault, decision.action, changes, self._t_fault(case, now), now, None, result,
                                    proposal.words if proposal is not None else decision.why, decision.id))  # fmt: skip

    def _settle(self, id: str, result: str, why: str, verified: float | None = None) -> None:
        for place, item in enumerate(self.remedies):
            if item.id == id or (item.result == "" and id == ""):
                self.remedies[place] = item._replace(result=result, t_verified=verified, why=why)


def _shown(value: Value) -> str:
    return "(not set)" if value is None else str(value)
