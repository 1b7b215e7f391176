"""approve, decline, breaker, audit: by the command line, over a real job directory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from remedy_support import HF, spec

from neuronwatch.cli.main import main
from neuronwatch.model.job import Change
from neuronwatch.remedy import state as states
from neuronwatch.remedy.api import Proposal
from neuronwatch.remedy.audit import NAME, Audit
from neuronwatch.remedy.desk import Desk
from neuronwatch.remedy.state import Open, Pending, State
from neuronwatch.supervise.directory import JobDirectory

ID = "0a1b2c3d"


def job(place: Path, state: State) -> JobDirectory:
    directory = JobDirectory(place, "sft")
    directory.make()
    directory.write_spec(spec(HF))
    Desk(directory.path).save(state)
    return directory


def waiting(expires: float = 3600.0) -> State:
    change = Change("argv", "--per_device_train_batch_size", 8, 4)
    proposal = Proposal("halve the batch", (change,), spec(HF))
    now = time.time()
    return State(pending=Pending(ID, "train.batch-size-device-oom", "batch-size", proposal, 1, now, now + expires))


@pytest.mark.parametrize("what", ["approve", "decline"])
def test_an_answer_waits_for_the_next_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    directory = job(tmp_path, waiting())
    assert main([what, "--state-dir", str(tmp_path)]) == 0
    assert f"{ID}  sft" in (said := capsys.readouterr().out) and "--per_device_train_batch_size 8 -> 4" in said
    assert main([what, ID, "--state-dir", str(tmp_path)]) == 0
    assert "no owner now" in capsys.readouterr().err
    desk = Desk(directory.path)
    _, answers, _ = desk.heard(desk.load(0.0))
    assert answers == {ID: what}
    assert [(e.kind, e.told["answer"]) for e in Audit(directory.path).entries()] == [("answer", what)]
    desk.done(ID)
    assert desk.heard(State())[1] == {}


def test_what_does_not_wait_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job(tmp_path, waiting(-1.0))
    assert main(["approve", "ffffffff", "--state-dir", str(tmp_path)]) == 64
    assert ID in capsys.readouterr().err
    assert main(["approve", "../../x", "--state-dir", str(tmp_path)]) == 64
    assert main(["approve", ID, "--state-dir", str(tmp_path)]) == 1
    assert "expired" in capsys.readouterr().err


def test_answers_of_others_and_odd_files_are_not_believed(tmp_path: Path) -> None:
    desk = Desk(job(tmp_path, waiting()).path)
    desk.answer(ID, "approve", 1.0)
    path = desk.directory / "answers" / f"{ID}.json"
    path.chmod(0o666)
    assert desk.heard(State())[1] == {}
    path.unlink()
    path.symlink_to("/etc/hostname")
    (desk.directory / "answers" / "x.json").write_text("{}")
    (desk.directory / "answers" / "deadbeef.json").write_text('{"answer": "rm -rf"}')
    (desk.directory / "answers" / "deadbee0.json").write_text("[" * 9999)
    assert desk.heard(State())[1] == {}
    path.unlink()
    desk.answer(ID, "approve", 1.0)
    (desk.directory / "answers").chmod(0o777)
    assert desk.heard(State())[1] == {}


def test_a_breaker_is_listed_and_closed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = {"batch-size": Open(1.0, "it did not help"), "port": Open(2.0, "nor this")}
    directory = job(tmp_path, State(breaker=opened, used={"batch-size": (1.0,)}))
    place = ["--state-dir", str(tmp_path)]
    assert main(["breaker", "list", *place]) == 0
    assert "it did not help" in capsys.readouterr().out
    assert main(["breaker", "close", "sft", "batch-sise", *place]) == 64
    assert "did you mean batch-size" in capsys.readouterr().err
    assert main(["breaker", "close", "sft", "batch-size", *place]) == 0
    state = Desk(directory.path).load(0.0)
    assert set(state.breaker) == {"port"} and state.used == {}
    assert main(["breaker", "close", "sft", *place]) == 0
    assert Desk(directory.path).load(0.0).breaker == {}


def test_an_owner_that_lives_closes_it_itself(tmp_path: Path) -> None:
    directory = job(tmp_path, State(breaker={"port": Open(1.0, "x")}))
    assert directory.take()
    assert main(["breaker", "close", "sft", "--state-dir", str(tmp_path)]) == 0
    desk = Desk(directory.path)
    assert set(desk.load(0.0).breaker) == {"port"}, "its state is not touched behind its back"
    state, _, closed = desk.heard(desk.load(0.0))
    assert state.breaker == {} and closed == ("*",) and desk.heard(State())[2] == ()
    directory.release()


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1]", b'{"schema": "x"}', b"\xff\xff", b'{"schema":"neuronwatch.remedies/1","used":[]}']
)
def test_a_damaged_state_locks_everything_and_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    desk = Desk(job(tmp_path, State()).path)
    (desk.directory / "state.json").write_bytes(damage)
    assert desk.look() == State()
    state = desk.load(5.0)
    assert "*" in state.breaker
    assert [path for path in desk.directory.iterdir() if path.name.startswith("state.json.torn-")]
    desk.save(state)
    assert desk.load(6.0) == state


def test_the_story_the_summary_and_the_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = job(tmp_path, State())
    audit = Audit(directory.path)
    diff = [{"where": "argv", "name": "--bs", "old": 8, "new": 4}]
    shadow = {
        "decision": "report",
        "shadow": True,
        "fault": "train.batch-size-device-oom",
        "action": "batch-size",
        "why": "observes",
        "run": 1,
        "diff": diff,
        "words": "halve",
    }
    audit.append("decision", 1.0, {**shadow, "evidence": [{"path": "stderr.log", "line": 3, "text": "oom \x1b[31m"}]})
    audit.append("person", 2.0, {"did": "spec", "diff": diff})
    audit.append("decision", 3.0, {**shadow, "run": 2})
    audit.append("person", 4.0, {"did": "stop"})
    audit.append(
        "verified", 5.0, {"fault": "train.hang", "action": "restart", "verdict": "helped", "why": "step 3", "seconds": 12.0}
    )
    audit.append("verified", 6.0, {"fault": "train.hang", "action": "restart", "verdict": "did not help", "why": "again"})
    place = ["--state-dir", str(tmp_path)]
    assert main(["audit", "show", "sft", *place]) == 0
    told = capsys.readouterr().out
    assert "--bs 8 -> 4" in told and "stderr.log:3: oom" in told and "\x1b" not in told
    assert main(["audit", "show", "--summary", *place]) == 0
    told = capsys.readouterr().out
    assert "train.hang: recovered 1 times, mean 12.0 s, worst 12.0 s; 1 times no remedy helped" in told
    assert "people then: same" in told and "people then: ended" in told and "1 of 2 shadow decisions" in told
    assert main(["audit", "show", "--format", "json", *place]) == 0
    assert len(json.loads(capsys.readouterr().out)["jobs"]["sft"]) == 6
    assert main(["audit", "verify", *place]) == 0
    assert "whole, 6 lines" in capsys.readouterr().out
    path = directory.path / NAME
    path.write_text(path.read_text().replace("halve", "delete"))
    assert main(["audit", "verify", "sft", *place]) == 1
    assert f"{path}:1: was changed" in capsys.readouterr().out


def test_a_state_of_all_kinds_survives_json() -> None:
    state = waiting()
    assert states.of_plain(json.loads(json.dumps(states.to_plain(state)))) == state
