"""What is decided about a job, and what becomes of it: pure, over simulated time."""

from __future__ import annotations

import json

import pytest
from remedy_support import FAILED, HF, case, finding, lives

from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import Exit, Progress
from neuronwatch.remedy import actions
from neuronwatch.remedy import state as states
from neuronwatch.remedy.decide import begin, decide
from neuronwatch.remedy.policy import Policy, Rule, shipped
from neuronwatch.remedy.state import State
from neuronwatch.remedy.verify import verify

OOM = "train.batch-size-device-oom"
ACT = shipped("act")


def test_a_batch_that_does_not_fit_is_halved_and_that_is_verified() -> None:
    failed = case(HF, OOM)
    decision, state = decide(failed, State(), ACT, 1001.0)
    assert (decision.kind, decision.action, decision.fault) == ("act", "batch-size", OOM)
    assert decision.proposal is not None and decision.proposal.spec is not None
    assert " ".join(decision.proposal.spec.argv) == (
        "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 4 --gradient_accumulation_steps=4 --bf16"
    )
    assert [(c.name, c.old, c.new) for c in decision.proposal.changes] == [
        ("--per_device_train_batch_size", 8, 4), ("--gradient_accumulation_steps", 2, 4),
    ]  # fmt: skip
    state = begin(state, failed, decision, 1002.0)
    new = replace(failed, spec=decision.proposal.spec, exit=None, run=2, began=1003.0, findings=())
    assert verify(new, state, 1004.0).verdict == "pending"
    verified = verify(replace(new, progress=Progress("step", 1003.0, 1010.0, step=1)), state, 1010.0)
    assert (verified.verdict, verified.seconds) == ("helped", 10.0)
    assert verified.state.trial is None and verified.state.recovered[OOM].count == 1


def test_it_goes_down_to_one_and_then_all_of_it_is_undone_and_the_breaker_opens() -> None:
    now, state, failed = 1000.0, State(), case(HF, OOM)
    asked = failed.spec
    for batch in (4, 2, 1):
        verified = verify(failed, state, now)
        assert verified.verdict == "pending"
        decision, state = decide(failed, verified.state, ACT, now)
        assert decision.kind == "act", decision
        assert decision.proposal is not None and decision.proposal.spec is not None
        assert decision.proposal.spec.argv[5] == str(batch)
        state = begin(state, failed, decision, now)
        failed = replace(failed, spec=decision.proposal.spec, run=failed.run + 1, began=now, exit=FAILED._replace(time=now + 5))
        now += 10
    verified = verify(failed, state, now)
    assert verified.verdict == "did not help"
    assert verified.undo is not None and verified.undo.spec == asked
    assert verified.state.breaker["batch-size"].fault == OOM
    decision, state = decide(replace(failed, spec=asked), verified.state, ACT, now)
    assert decision.action != "batch-size" or decision.kind == "report"


def test_a_further_step_that_a_person_declines_undoes_the_ones_before() -> None:
    failed = case(HF, OOM)
    decision, state = decide(failed, State(), ACT, 1000.0)
    assert decision.proposal is not None and decision.proposal.spec is not None
    state = begin(state, failed, decision, 1000.0)
    again = replace(failed, spec=decision.proposal.spec, run=2, began=1001.0)
    declined = replace(verify(again, state, 1002.0).state, declined={f"{OOM}|batch-size": 5000.0})
    verified = verify(again, declined, 1003.0)
    assert verified.verdict == "did not help" and verified.undo is not None and verified.undo.spec == failed.spec


def test_observe_says_once_what_it_would_have_done() -> None:
    decision, state = decide(case(HF, OOM), State(), shipped("observe"), 1.0)
    assert (decision.kind, decision.shadow, decision.action) == ("report", True, "batch-size")
    assert decision.proposal is not None
    kinds = {decision.action}
    for _ in range(4):
        decision, state = decide(case(HF, OOM), state, shipped("observe"), 2.0)
        assert decision.kind != "act"
        kinds.add(decision.action if decision.kind == "report" else "")
    assert decision.kind == "nothing" and kinds == {"batch-size", "restart", ""}


@pytest.mark.parametrize("answer", ["approve", "decline", ""])
def test_ask_waits_for_an_answer_and_expires(answer: str) -> None:
    failed = case(HF, OOM)
    first, state = decide(failed, State(), shipped("ask"), 100.0)
    assert first.kind == "propose" and first.expires == 100.0 + 86400
    again, state = decide(failed, state, shipped("ask"), 200.0)
    assert (again.kind, again.id) == ("propose", first.id)
    state = states.of_plain(json.loads(json.dumps(states.to_plain(state))))  # an owner was killed meanwhile
    answered = replace(failed, answers={first.id: answer} if answer else {})
    decision, state = decide(answered, state, shipped("ask"), 300.0 if answer else 100.0 + 86401)
    assert decision.id == first.id
    assert decision.kind == ("act" if answer == "approve" else "report")
    if answer != "approve":
        following, _ = decide(failed, state, shipped("ask"), 1000.0 if answer else 90000.0)
        assert following.action != "batch-size"


def test_an_answer_to_another_proposal_approves_nothing() -> None:
    failed = case(HF, OOM)
    first, state = decide(failed, State(), shipped("ask"), 100.0)
    decision, _ = decide(replace(failed, answers={"0" * 8: "approve"}), state, shipped("ask"), 101.0)
    assert (decision.kind, decision.id) == ("propose", first.id)


def test_a_fault_may_be_more_careful_than_its_action_and_never_less() -> None:
    for policy, kind in (
        (Policy("act", faults={OOM: "ask"}), "propose"),
        (Policy("act", faults={"train.*": "observe"}), "report"),
        (Policy("observe", actions={"batch-size": Rule("act")}), "act"),
    ):
        assert decide(case(HF, OOM), State(), policy, 1.0)[0].kind == kind
    careful = Policy("act", actions={"batch-size": Rule("observe")}, faults={OOM: "act"})
    decision, _ = decide(case(HF, OOM), State(), careful, 1.0)
    assert decision.action == "restart" and "not batch-size: the policy" in decision.why


def test_a_finding_that_is_not_sure_asks_at_most() -> None:
    unsure = replace(case(HF), findings=(finding(OOM, 0.4),))
    assert decide(unsure, State(), ACT, 1.0)[0].kind == "propose"


def test_budget_and_cool_down_hold() -> None:
    policy = Policy("act", actions={"batch-size": Rule(budget=1)})
    used = State(used={"batch-size": (500.0,)})
    decision, _ = decide(case(HF, OOM), used, policy, 1000.0)
    assert decision.action == "restart" and "budget" in decision.why
    assert decide(case(HF, OOM), used, policy, 500.0 + 86401)[0].action == "batch-size"
    cooling = Policy("act", actions={"batch-size": Rule(cool_down=1000)})
    assert "cools down" in decide(case(HF, OOM), used, cooling, 1000.0)[0].why


def test_an_open_breaker_holds_back_even_what_was_approved() -> None:
    failed = case(HF, OOM)
    first, state = decide(failed, State(), shipped("ask"), 1.0)
    state = replace(state, breaker={"*": states.Open(1.0, "the state was damaged")})
    decision, _ = decide(replace(failed, answers={first.id: "approve"}), state, shipped("ask"), 2.0)
    assert decision.kind == "report" and "damaged" in decision.why


def test_a_crash_is_restarted_from_the_newest_good_checkpoint_and_twice_the_same_way_is_not() -> None:
    from neuronwatch.remedy.api import Checkpoint, Past

    failed = case(
        "python train.py --output_dir o --resume_from_checkpoint o/checkpoint-9",
        checkpoints=(Checkpoint("o/checkpoint-6", 6, 1.0),),
    )
    decision, _ = decide(failed, State(), ACT, 1.0)
    assert (decision.kind, decision.action) == ("act", "restart")
    assert decision.proposal is not None and decision.proposal.spec is not None
    assert decision.proposal.spec.argv[-1] == "o/checkpoint-6"
    twice = replace(failed, history=(Past(FAILED, False),))
    assert decide(twice, State(), ACT, 1.0)[0].kind == "stop"
    other = replace(failed, history=(Past(Exit(None, 9, 1.0), False),))
    assert decide(other, State(), ACT, 1.0)[0].kind == "act"


def test_where_no_restart_can_help_it_stops_with_the_reason() -> None:
    decision, _ = decide(case(HF, "env.not-a-neuron-instance"), State(), ACT, 1.0)
    assert decision.kind == "stop" and "title of env.not-a-neuron-instance" in decision.why
    stepped = replace(case(HF, "env.disk-full"), progress=Progress("step", step=7))
    assert decide(stepped, State(), ACT, 1.0)[0].kind == "act"


def test_nothing_is_ever_done_to_a_job_that_does_well() -> None:
    for healthy in (
        lives(),
        case(exit=Exit(0, None, 1.0)),
        case(HF, OOM, exit=Exit(0, None, 1.0)),
        replace(case(HF, OOM), asked_to_end=True),
    ):
        for mode in ("observe", "ask", "act"):
            decision, state = decide(healthy, State(), shipped(mode), 1.0)
            assert decision.kind == "nothing" and state == State()


def test_a_run_that_makes_progress_is_not_ended_for_a_batch() -> None:
    decision, _ = decide(replace(lives(), findings=(finding(OOM),)), State(), ACT, 1.0)
    assert decision.kind == "report" and not decision.shadow


def test_a_hang_is_ended_and_started_again() -> None:
    decision, state = decide(lives(stall="train.hang"), State(), ACT, 1000.0)
    assert (decision.kind, decision.action, decision.fault) == ("act", "restart", "train.hang")
    state = begin(state, lives(stall="train.hang"), decision, 1000.0)
    assert verify(lives(run=2, began=1001.0), state, 1005.0).verdict == "helped"


def test_a_restart_that_fails_in_the_same_way_opens_the_breaker() -> None:
    from neuronwatch.remedy.api import Past

    failed = case("python x.py")
    decision, state = decide(failed, State(), ACT, 1000.0)
    state = begin(state, failed, decision, 1000.0)
    again = replace(failed, run=2, began=1001.0, history=(Past(FAILED, False),))
    verified = verify(again, state, 1002.0)
    assert verified.verdict == "did not help" and verified.undo is not None and verified.undo.spec is None
    assert "restart" in verified.state.breaker


def test_each_action_is_named_once_and_has_a_file() -> None:
    names = [action.name for action in actions.ACTIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "damage",
    ['{"schema": "neuronwatch.remedies/2"}', '{"schema": "neuronwatch.remedies/1"}', '{"schema": "neuronwatch.remedies/1", "x": 1}',
     '{"schema": "neuronwatch.remedies/1", "used": [], "breaker": {}, "declined": {}, "recovered": {}, "said": [], "count": 0}',
     '{"schema": "neuronwatch.remedies/1", "used": {"a": ["x"]}, "breaker": {}, "declined": {}, "recovered": {}, "said": [], "count": 0}',
     '{"schema": "neuronwatch.remedies/1", "used": {}, "breaker": {}, "declined": {}, "recovered": {}, "said": [], "count": true}',
     '{"schema": "neuronwatch.remedies/1", "used": {}, "breaker": {}, "declined": {"a": NaN}, "recovered": {}, "said": [], "count": 1}'],
)  # fmt: skip
def test_a_damaged_state_is_a_value_error(damage: str) -> None:
    with pytest.raises(ValueError):
        states.of_plain(json.loads(damage))


def test_a_locked_state_acts_on_nothing() -> None:
    state = states.locked("state.json was damaged", 1.0)
    assert decide(case(HF, OOM), state, ACT, 2.0)[0].kind == "report"
