"""From a fault to a verified recovery: real jobs that show the fault as long as they are not cured, under `--policy act`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from recovery_support import CACHED, MEMORY, PROGRAM, SCENARIOS
from supervise_support import left, owner, started, until

from neuronwatch.remedy.audit import Audit
from neuronwatch.supervise.directory import JobDirectory


def job(tmp_path: Path, sick: str, message: str) -> Path:
    script = tmp_path / "train.py"
    script.write_text(PROGRAM.format(sick=sick, message=message))
    return script


def run(tmp_path: Path, *words: str, options: tuple[str, ...] = ("--policy", "act"), name: str = "t"):
    report = tmp_path / "report.json"
    with owner(tmp_path / "state", *words, options=("--report", str(report), *options), name=name) as process:
        _, said = process.communicate(timeout=120)
    document = json.loads(report.read_text()) if report.exists() else {}
    directory = JobDirectory(tmp_path / "state", name)
    _, problems = Audit(directory.path).verify()
    assert problems == [] and "Traceback" not in said and left(tmp_path / "state", name) == [], said
    return document, said, directory, process.returncode


@pytest.mark.parametrize("action", sorted(SCENARIOS))
def test_a_fault_of_the_spec_is_cured(action, tmp_path):
    arguments, sick, message, expected = SCENARIOS[action]
    script = job(tmp_path, sick, message)
    before = script.read_bytes()
    document, said, directory, code = run(tmp_path, sys.executable, str(script), *arguments)
    assert code == 0, said
    last = document["remedies"][-1]
    assert (last["action"], last["result"]) == (action, "helped") and last["diff"] and last["t_verified"] >= last["t_fault"]
    assert script.read_bytes() == before and directory.spec().argv[2:] == tuple(arguments)  # as asked for
    if expected is not None:
        assert directory.current().argv[2:] == tuple(expected) and document["suggested"]
    kinds = [(item.kind, item.told.get("verdict")) for item in Audit(directory.path).entries()]
    assert ("verified", "helped") in kinds


def test_a_remedy_that_does_not_help_is_undone_and_its_breaker_opens(tmp_path):
    script = job(tmp_path, "True", CACHED)
    document, said, directory, code = run(tmp_path, sys.executable, str(script))
    assert code == 1 and "did not help" in said and "breaker" in said
    assert directory.current().env == directory.spec().env  # as it was before
    state = json.loads((directory.path / "state.json").read_text())
    assert "retry-failed-compilation" in state["breaker"]
    assert any(item["action"] == "retry-failed-compilation" and item["result"] == "did not help" for item in document["remedies"])
    again, said, _, _ = run(tmp_path, sys.executable, str(script))  # until a person closes it
    assert not any(item["action"] == "retry-failed-compilation" for item in again["remedies"]) and "breaker" in said


def test_what_observe_would_have_done_is_said_and_not_done(tmp_path):
    script = job(tmp_path, SCENARIOS["batch-size"][1], MEMORY)
    document, said, directory, code = run(tmp_path, sys.executable, str(script), *SCENARIOS["batch-size"][0], options=())
    assert code == 1 and "would have done: batch-size" in said and document["remedies"] == [] and len(directory.runs()) == 1
    assert any(item.told.get("shadow") is True for item in Audit(directory.path).entries())


def test_ask_waits_for_a_person(tmp_path):
    from neuronwatch.cli.main import main

    script, report = job(tmp_path, SCENARIOS["batch-size"][1].replace("> 2", "> 4"), MEMORY), tmp_path / "report.json"
    words = (sys.executable, str(script), *SCENARIOS["batch-size"][0])
    options = ("--policy", "ask", "--report", str(report))
    directory = JobDirectory(tmp_path / "state", "t")
    with owner(tmp_path / "state", *words, options=options) as process:

        def waits():
            place = directory.path / "state.json"
            pending = json.loads(place.read_text())["pending"] if place.exists() else None
            return pending and pending["action"] == "batch-size" and pending["id"]

        until(waits, "the proposal")
        assert process.poll() is None and len(directory.runs()) == 1
        assert main(["approve", waits(), "--state-dir", str(tmp_path / "state")]) == 0
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "proposed batch-size" in said, said
    assert json.loads(report.read_text())["remedies"][-1]["result"] == "helped"


def test_a_job_that_hangs_is_ended_and_started_again(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys, time\nfor step in range(1, 6):\n"
        "    print({'loss': 3.0 - step / 10, 'grad_norm': 1.0, 'epoch': step / 8}, flush=True)\n    time.sleep(0.1)\n"
        f"if not os.path.exists({str(tmp_path / 'again')!r}):\n    open({str(tmp_path / 'again')!r}, 'w')\n    time.sleep(1000)\n"
    )
    limits = [item for phase in ("step", "unknown", "import", "warmup") for item in ("--hang-limit", f"{phase}=3")]
    options = ("--policy", "act", "--grace", "1", *limits)
    document, said, _, code = run(tmp_path, sys.executable, str(script), options=options)
    assert code == 0 and [item["exit"] for item in document["runs"]] == [143, 0], said
    assert document["remedies"][0]["action"] == "restart" and document["remedies"][0]["result"] == "helped"


def test_a_killed_job_is_restarted_and_that_is_verified_when_it_steps(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import time\nfor step in range(1, 60):\n    print({'loss': 3.0, 'epoch': step / 8}, flush=True)\n    time.sleep(0.1)\n"
    )
    report = tmp_path / "report.json"
    options = ("--policy", "act", "--report", str(report), "--settled", "2")
    with owner(tmp_path / "state", sys.executable, str(script), options=options) as process:
        os.kill(started(tmp_path / "state"), signal.SIGKILL)
        started(tmp_path / "state", run=2)
        process.communicate(timeout=60)
    document = json.loads(report.read_text())
    assert process.returncode == 0 and document["remedies"][0]["result"] == "helped" and document["restarts"] == 1


HEALTHY = {
    "trains": PROGRAM.format(sick="False", message=""),
    "says nothing": "import time; time.sleep(2)",
    "serves": "import time\nprint('INFO:     Uvicorn running on http://127.0.0.1:8000', flush=True)\ntime.sleep(3)",
    "warns": "import sys\nfor i in range(200): print('WARNING: slow step', i, file=sys.stderr)",
    "children": "import subprocess\nfor _ in range(5): subprocess.run(['true'], check=True)",
    "burns": "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass",
}


@pytest.mark.parametrize("kind", sorted(HEALTHY))
def test_nothing_is_ever_done_about_a_healthy_job(kind, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(HEALTHY[kind])
    document, said, directory, code = run(tmp_path, sys.executable, str(script), options=("--policy", "act", "--settled", "1"))
    assert code == 0 and len(directory.runs()) == 1 and document["remedies"] == [], said
    assert [item for item in Audit(directory.path).entries() if item.kind == "decision"] == []


def test_an_owner_that_is_killed_during_a_remedy_loses_nothing(tmp_path):
    """At each of many moments: the audit chain is whole, the next owner brings the job to its end."""
    arguments, sick, message, _ = SCENARIOS["batch-size"]
    script = job(tmp_path, sick, message)
    words = (sys.executable, str(script), *arguments)
    directory = JobDirectory(tmp_path / "state", "t")
    for turn in range(4):
        with owner(tmp_path / "state", *words, options=("--policy", "act")) as process:
            until(lambda turn=turn, process=process: len(directory.runs()) > turn or process.poll() is not None, "a run")
            time.sleep(0.3 * turn)
            process.kill()
            process.communicate(timeout=30)
    _, said, _, code = run(tmp_path, *words)
    assert code == 0, said
    assert all(item.ended() is not None or item.given_up() is not None or item.started() is None for item in directory.runs())


def test_a_job_without_steps_that_is_killed_again_and_again_after_it_began_is_started_each_time(tmp_path):
    options = ("--policy", "act", "--settled", "0.7", "--grace", "1")
    with owner(tmp_path / "state", "sleep", "1000", options=options) as process:
        for number in range(1, 5):
            pid = started(tmp_path / "state", run=number)
            time.sleep(1.5)
            os.kill(pid, signal.SIGKILL)
        started(tmp_path / "state", run=5)
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143 and "breaker" not in said, said
