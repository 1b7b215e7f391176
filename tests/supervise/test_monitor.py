"""The monitor of a run on real processes that print what trainers print."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from neuronwatch.model.job import JobSpec
from neuronwatch.supervise import activity
from neuronwatch.supervise.directory import Run, write_json
from neuronwatch.supervise.monitoring import Monitoring
from neuronwatch.supervise.observed import Observed, document, of_document
from neuronwatch.supervise.tree import Tree, process

PATIENCE = 40.0
STEPS = """
import time
print('***** Running training *****', flush=True)
for step in range(1, {last} + 1):
    print({{'loss': {loss}, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'step': step}}, flush=True)
    time.sleep({pause})
time.sleep(600)
"""


@contextlib.contextmanager
def job(place: Path, script: str, **limits: float | None) -> Iterator[tuple[Monitoring, subprocess.Popen[bytes]]]:
    run = Run(place / "0001")
    run.path.mkdir()
    write_json(run.path / "intent.json", {"mark": "m"})
    env = {**os.environ, "NEURONWATCH_EMIT": str(run.emit)}
    with open(run.stdout, "ab") as out, open(run.stderr, "ab") as err:
        child = subprocess.Popen([sys.executable, "-c", script], stdout=out, stderr=err, env=env, start_new_session=True)
    spec = JobSpec("t", (sys.executable, "train.py"), hang_limits=limits)
    monitoring = Monitoring(run, spec, [_identity(os.getpid()), _identity(child.pid)])
    try:
        yield monitoring, child
    finally:
        monitoring.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _identity(pid: int) -> tuple[int, int]:
    found = process(pid)
    assert found is not None
    return pid, found.start


def until(monitoring: Monitoring, right: Callable[[Observed], object]) -> Observed:
    end = time.monotonic() + PATIENCE
    while not right(monitoring.observed):
        assert time.monotonic() < end, monitoring.observed
        assert not monitoring.gone, "the monitor died"
        if select.select([monitoring.descriptor], [], [], 0.5)[0]:
            monitoring.read()
    return monitoring.observed


def rules(observed: Observed) -> set[str]:
    return {item.rule for item in observed.findings if item.role == "cause"}


def test_steps_and_a_loss_that_is_no_number(tmp_path):
    loss = "float('nan') if step > 15 else 2.5 - step / 20"
    with job(tmp_path, STEPS.format(last=30, loss=loss, pause=0.1)) as (monitoring, _):
        early = until(monitoring, lambda seen: (seen.progress.step or 0) >= 3)
        assert early.progress.phase == "step"
        found = until(monitoring, lambda seen: "train.loss-nan" in rules(seen))
        assert any(item.line == 17 for finding in found.findings for item in finding.evidence)


def test_a_stopped_process_is_a_hang_and_going_on_ends_it(tmp_path):
    with job(tmp_path, STEPS.format(last=10_000, loss="2.5 - step / 1e5", pause=0.2), step=3.0) as (monitoring, child):
        until(monitoring, lambda seen: (seen.progress.step or 0) >= 3)
        os.kill(child.pid, signal.SIGSTOP)
        found = until(monitoring, lambda seen: seen.stall is not None and seen.stopped and "train.hang" in rules(seen))
        assert found.stall is not None and found.stall.phase == "step" and found.stopped == (child.pid,)
        assert (tmp_path / "0001" / "stacks-1.txt").exists()
        os.kill(child.pid, signal.SIGCONT)
        until(monitoring, lambda seen: seen.stall is None and "train.hang" not in rules(seen))


def test_a_compiler_that_runs_long_is_no_hang(tmp_path):
    compiler = tmp_path / "neuronx-cc"
    compiler.write_text("#!/bin/sh\nsleep 600 &\nwait\n")
    compiler.chmod(0o755)
    script = f"import subprocess, time\nprint('Compiling model', flush=True)\nsubprocess.Popen([{str(compiler)!r}, 'compile'])\ntime.sleep(600)"
    with job(tmp_path, script, compile=0.5, unknown=0.5) as (monitoring, _):
        until(monitoring, lambda seen: seen.progress.phase == "compile")
        end = time.monotonic() + 8
        while time.monotonic() < end:
            if select.select([monitoring.descriptor], [], [], 0.5)[0]:
                monitoring.read()
            assert monitoring.observed.stall is None


def test_emit_events_are_followed(tmp_path):
    script = (
        "import sys, time; from neuronwatch import emit\n"
        "emit.phase('compile', graphs=1, of_graphs=4); time.sleep(1.5)\n"
        "for n in range(1, 6): emit.step(n, loss=3.0 - n / 10, tokens_per_s=1000.0, max_steps=9)\n"
        "emit.checkpoint('out/checkpoint-5', step=5); time.sleep(600)"
    )
    with job(tmp_path, script) as (monitoring, _):
        found = until(monitoring, lambda seen: seen.progress.checkpoint)
        progress = found.progress
        assert (progress.phase, progress.step, progress.max_steps, progress.tokens_per_s) == ("step", 5, 9, 1000.0)


def test_an_owner_that_is_killed_leaves_no_monitor(tmp_path):
    with job(tmp_path, "import time; time.sleep(600)") as (monitoring, _):
        until(monitoring, lambda seen: monitoring.observed.progress.since > 0)
        child = monitoring._child
        assert child is not None and child.stdin is not None
        child.stdin.close()
        assert child.wait(PATIENCE) == 0


def test_what_is_observed_survives_the_pipe():
    assert of_document(document(Observed())) == Observed()


def test_activity_of_a_busy_and_of_a_sleeping_process():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    idle = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        time.sleep(0.5)
        for child, works in ((busy, True), (idle, False)):
            tree = Tree([_identity(os.getpid()), _identity(child.pid)], "")
            members = [item for item in tree.members() if item.pid == child.pid]
            before = activity.look(members)
            time.sleep(1.0)
            assert activity.worked(before, activity.look(members), 1.0) is works
    finally:
        for child in (busy, idle):
            child.kill()
            child.wait()
