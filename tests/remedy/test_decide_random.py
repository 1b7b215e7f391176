"""The whole loop of an owner in thought, over random faults, outcomes, answers and kills: what must hold whatever happens (seed 11)."""

from __future__ import annotations

import json
import random

import pytest
from remedy_support import finding, spec

from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import Exit, Mode, Progress
from neuronwatch.remedy import actions
from neuronwatch.remedy import state as states
from neuronwatch.remedy.api import Case, Checkpoint, Past, Survey
from neuronwatch.remedy.decide import begin, decide
from neuronwatch.remedy.policy import Policy, shipped
from neuronwatch.remedy.state import State
from neuronwatch.remedy.verify import verify

COMMANDS = (
    "torchrun --nproc_per_node 4 t.py --per_device_train_batch_size 8 --gradient_accumulation_steps=2 --fp16 --num_proc 64",
    "vllm serve m --max-num-seqs 4 --max-model-len 2048",
    "./own.sh",
)
FAULTS = [fault for action in actions.ACTIONS for fault in action.faults if action.kind != "host"]


def a_case(rng: random.Random, before: Case, now: float) -> Case:
    """The next run of the job, somewhere in its life."""
    faults = rng.sample(FAULTS, rng.choice((0, 0, 1, 1, 2)))
    role = rng.choice(("cause", "cause", "symptom", "note"))
    findings = tuple(finding(fault, rng.choice((0.3, 0.7, 0.95)), role=role) for fault in faults)
    lives = rng.random() < 0.4
    exit = None if lives else rng.choice((Exit(0, None, now), Exit(1, None, now), Exit(None, 9, now), Exit(None, None, now)))
    step = rng.choice((None, None, 1, 50))
    progress = Progress(rng.choice(("compile", "step", "serve", "unknown")), before.began, now, step=step)
    past = (*before.history, Past(before.exit, None, "")) if before.exit is not None else before.history
    return replace(
        before, run=before.run + (1 if before.exit is not None else 0), exit=exit, findings=findings, progress=progress, history=past,
        began=now - rng.choice((1.0, 300.0)), stall=rng.choice(("", "", "", "train.hang")) if lives else "", stepped=None,
        checkpoints=rng.choice(((), (Checkpoint("o/checkpoint-3", 3, 1.0),))), asked_to_end=rng.random() < 0.05,
        survey=Survey(ports=(29600,), writable=("/local/c",), cores=(0, 1, 2, 3)),
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["observe", "ask", "act"])
def test_what_holds_whatever_happens(mode: Mode) -> None:
    rng = random.Random(f"11/{mode}")
    for _ in range(150):
        job = spec(rng.choice(COMMANDS))
        case, state, now, policy = Case(job, job, environ={}), State(), 1000.0, shipped(mode)
        answered: set[str] = set()
        for _ in range(40):
            now += rng.choice((1.0, 20.0, 4000.0, 90000.0))
            case = a_case(rng, case, now)
            before = state.trial.before if state.trial is not None else None
            verified = verify(case, state, now)
            if verified.verdict == "did not help":
                assert before is not None and verified.undo is not None
                assert (verified.undo.spec or case.spec) == before, "all steps are undone, exactly"
                assert verified.undo.action in verified.state.breaker and verified.state.trial is None
                case = replace(case, spec=before)
            state = verified.state
            if state.pending is not None and rng.random() < 0.5:
                case = replace(case, answers={state.pending.id: rng.choice(("approve", "decline", "x"))})
            for _ in range(30):
                decision, state = decide(case, state, policy, now)
                state = states.of_plain(json.loads(json.dumps(states.to_plain(state))))  # an owner may be killed at any moment
                if decision.kind != "report":
                    break
            else:
                raise AssertionError("it reports for ever")
            assert_allowed(case, state, policy, decision, answered)
            if decision.kind == "act" and decision.proposal is not None:
                record = {"id": "0"} if actions.named(decision.action).apply else None  # type: ignore[union-attr]
                state = begin(state, case, decision, now, record)  # type: ignore[arg-type]
                case = replace(case, spec=decision.proposal.spec or case.spec)
            case = replace(case, answers={})


def assert_allowed(case: Case, state: State, policy: Policy, decision, answered: set[str]) -> None:  # type: ignore[no-untyped-def]
    if decision.kind == "nothing":
        return
    assert not case.asked_to_end and not (case.exit is not None and case.exit.ok), (
        "a job that is done, or ended by a person, is left alone"
    )
    assert policy.mode != "observe" or decision.kind == "stop", "observe does nothing"
    if decision.kind != "act":
        return
    assert decision.action not in state.breaker and "*" not in state.breaker
    if policy.mode == "ask":
        assert case.answers.get(decision.id) == "approve" and decision.id not in answered, "nobody approved it"
        answered.add(decision.id)
    elif decision.why != "approved":
        assert case.exit is not None or case.stall or actions.named(decision.action).live, "progress is not thrown away"  # type: ignore[union-attr]
        assert (
            not decision.fault or case.stall or any(item.fault == decision.fault and item.role == "cause" for item in case.findings)
        )
