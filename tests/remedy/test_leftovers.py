"""Processes that hold what a job needs: only what an earlier run of ours left behind is ended, with real processes."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from remedy_support import case, finding

from neuronwatch.remedy import leftovers
from neuronwatch.remedy.actions import end_leftover
from neuronwatch.remedy.api import Proposal, Refusal, RemedyError, Survey

SLEEPER = """
import signal, socket, sys, time
if sys.argv[2] == "stubborn": signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = open(sys.argv[1], "a")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(120)
"""


class Left:
    """A process that carries the mark of a run."""

    def __init__(self, device: Path, mark: str, how: str = "") -> None:
        environ = {**os.environ, leftovers.MARK: mark}
        self.child = subprocess.Popen([sys.executable, "-c", SLEEPER, str(device), how], env=environ, stdout=subprocess.PIPE)
        assert self.child.stdout is not None
        self.port = int(self.child.stdout.readline())

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()  # type: ignore[union-attr]


@pytest.fixture
def place(tmp_path: Path):  # type: ignore[no-untyped-def]
    run = tmp_path / "jobs" / "before" / "runs" / "0001"
    run.mkdir(parents=True)
    (run / "intent.json").write_text(json.dumps({"mark": "boot:abc:1"}))
    (run / "lock").write_text("")
    (tmp_path / "neuron0").write_text("")
    started: list[Left] = []

    def start(mark: str, how: str = "") -> Left:
        started.append(Left(tmp_path / "neuron0", mark, how))
        return started[-1]

    yield tmp_path, start
    for item in started:
        item.end()


def look(place: Path, **more: object) -> list[leftovers.Holder]:
    return leftovers.holders(place / "jobs", "boot:mine:2", re.compile(re.escape(str(place / "neuron0"))), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["", "stubborn", "stopped"])
def test_what_an_earlier_run_left_is_ended(place, how: str) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    left = start("boot:abc:1", how)
    if how == "stopped":
        left.child.send_signal(signal.SIGSTOP)
    found = look(path)
    assert [holder.pid for holder in found] == [left.child.pid] and "run 0001 of job before" in found[0].ours
    judged = case("python t.py", survey=Survey(holders=tuple(found), jobs=str(path / "jobs"), mark="boot:mine:2"))
    answer = end_leftover.propose(judged, finding("runtime.cores-busy"))
    assert isinstance(answer, Proposal) and "irreversible" in answer.undo
    if how == "stubborn":
        found = [holder._replace() for holder in found]
        assert "SIGKILL" in leftovers.end(found[0].pid, found[0].start, path / "jobs", "boot:mine:2", grace=0.2)
    else:
        record = end_leftover.apply(answer.hand)
        assert "SIGTERM" in str(record["done"]) and "irreversible" in end_leftover.undo(record)
    left.child.wait(10)
    assert look(path) == []


def test_nothing_else_is_ever_ended(place) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    strange, unmarked, mine = start("boot:other:1"), start(""), start("boot:mine:2")
    found = look(path)
    assert len(found) == 3 and all(holder.ours == "" for holder in found)
    judged = case("python t.py", survey=Survey(holders=tuple(found), jobs=str(path / "jobs"), mark="boot:mine:2"))
    answer = end_leftover.propose(judged, finding("runtime.cores-busy"))
    assert isinstance(answer, Refusal) and "nothing proves" in answer.why
    for left in (strange, unmarked, mine):
        start_of = next(holder.start for holder in found if holder.pid == left.child.pid)
        with pytest.raises(RemedyError):
            end_leftover.apply({"pids": ((left.child.pid, start_of),), "jobs": str(path / "jobs"), "mark": "boot:mine:2"})
        assert left.child.poll() is None


def test_a_run_whose_shim_lives_is_no_leftover(place) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    left = start("boot:abc:1")
    with (path / "jobs" / "before" / "runs" / "0001" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert look(path)[0].ours == ""
        with pytest.raises(RemedyError):
            leftovers.end(left.child.pid, look(path)[0].start, path / "jobs", "boot:mine:2")
    assert look(path)[0].ours


def test_a_pid_that_was_given_again_is_not_ended(place) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    left = start("boot:abc:1")
    assert "gone already" in leftovers.end(left.child.pid, 1, path / "jobs", "boot:mine:2")
    assert left.child.poll() is None


def test_who_listens_on_the_port_is_found_and_free_ports_are_free(place) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    left = start("boot:abc:1")
    found = leftovers.holders(path / "jobs", "", re.compile("x"), ports=(left.port,))
    assert [(holder.pid, holder.holds) for holder in found] == [(left.child.pid, f"port {left.port}")]
    ports = leftovers.free_ports()
    assert len(ports) == 2 and left.port not in ports


def test_damaged_marks_of_runs_are_no_marks(place) -> None:  # type: ignore[no-untyped-def]
    path, start = place
    start("boot:abc:1")
    (path / "jobs" / "before" / "runs" / "0001" / "intent.json").write_text("[[")
    assert look(path)[0].ours == ""
