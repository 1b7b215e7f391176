"""kill -9 of anything of a job at random moments, seeded: what must hold afterwards."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

from supervise_support import left, owner

from neuronwatch.remedy.audit import Audit
from neuronwatch.supervise import tree
from neuronwatch.supervise.directory import JobDirectory

COMMAND = """
import os, sys, time
place = sys.argv[1]
with open(place, 'a') as file:
    file.write(f'{os.getpid()} begin\\n')
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(1000)
time.sleep(float(sys.argv[2]))
with open(place, 'a') as file:
    file.write(f'{os.getpid()} end\\n')
"""
"""Leaves a grandchild in a session of its own, and ends by itself."""
SICK = """
import os, sys
with open(sys.argv[1], 'a') as file:
    file.write(f'{os.getpid()} begin\\n')
batch = int(sys.argv[sys.argv.index('--per_device_train_batch_size') + 1])
if batch > 1:
    print('2022-Dec-02 09:13:40.0712 61220:61220 ERROR  TDRV:tdrv_one_tmpbuf_reserve                 Number of ONE TMPBUF pages '
          'requested exceeded the max number of pages allowed (requested: 24, max allowed: 16).', file=sys.stderr)
    sys.exit(1)
for step in range(5):
    print({'loss': 3.0 - step / 10, 'epoch': step / 8}, flush=True)
"""
"""Fits into the device only when a remedy has halved its batch twice."""


def campaign(directory: Path, seed: int, times: int) -> list[str]:
    """Kills owner, shim, command or a child of it, `times` times; what was wrong, in words."""
    random_ = random.Random(seed)
    wrong: list[str] = []
    script, said, sick = directory / "job.py", directory / "said", directory / "train.py"
    script.write_text(COMMAND)
    sick.write_text(SICK)
    for turn in range(times):
        state = directory / f"state{turn}"
        chosen = sick if turn % 4 == 3 else script
        wrong += [f"turn {turn}: {item}" for item in _turn(state, chosen, said, random_, chosen == sick)]
        said.unlink(missing_ok=True)
    return wrong


def _turn(state: Path, script: Path, said: Path, random_: random.Random, sick: bool) -> list[str]:
    import sys

    words = (sys.executable, "-S", str(script), str(said), str(random_.choice((0.02, 0.2, 0.6))))
    policy = random_.choice(("observe", "act"))
    if sick:
        words, policy = (*words[:-1], "--per_device_train_batch_size", "4", "--gradient_accumulation_steps", "1"), "act"
    process = owner(state, *words, options=("--grace", "0.5", "--policy", policy))
    end = time.monotonic() + random_.random() * (4.0 if sick else 0.8)
    victim = random_.choice(("owner", "shim", "command", "child"))
    while time.monotonic() < end:
        time.sleep(0.002)
    if victim == "owner":
        process.kill()
    else:
        _kill(state, victim, random_)
    if victim == "owner" or random_.random() < 0.3:
        process.kill()
        process.communicate(timeout=60)
        with owner(state, *words, options=("--grace", "0.5", *(("--policy", "act") if sick else ()))) as second:
            _, text = second.communicate(timeout=60)
            code = second.returncode
    else:
        _, text = process.communicate(timeout=60)
        code = process.returncode
    found = list(_wrong(state, said, code, text))
    if sick and code != 0 and victim == "owner":
        found.append(f"the sick job was not cured: {code}: {text[-1000:]}")
    return found


def _kill(state: Path, victim: str, random_: random.Random) -> None:
    with contextlib.suppress(Exception):
        started = JobDirectory(state, "t").newest().started()
        pids = {"shim": [started.shim.pid], "command": [started.command.pid]}
        children = [item.pid for item in tree.below([started.command.pid, started.shim.pid], tree.processes())]
        os.kill(random_.choice(pids.get(victim) or children), signal.SIGKILL)


def _lives(pid: int) -> bool:
    found = tree.process(pid)
    return found is not None and not found.dead


def _wrong(state: Path, said: Path, code: int, text: str) -> list[str]:
    found = []
    if "Traceback" in text:
        found.append(text)
    if left(state):
        found.append(f"orphans {left(state)}")
    runs = JobDirectory(state, "t").runs()
    alive: set[str] = set()
    for line in said.read_text().splitlines() if said.exists() else []:
        pid, what = line.split()
        if what == "begin" and any(_lives(int(other)) for other in alive):
            found.append(f"two at once: {pid} beside {alive}")
        alive.add(pid)
    for run in runs:
        if run.held():
            found.append(f"run {run.number} is still held")
        if run.started() is not None and run.ended() is None and run.given_up() is None:
            found.append(f"run {run.number}: nobody says how it ended")
    _, problems = Audit(JobDirectory(state, "t").path).verify()
    found += [f"audit line {item.line}: {item.what}" for item in problems]
    last = runs[-1].ended() if runs else None
    if code == 0 and (last is None or not last.ok):
        found.append(f"success is told of {last}")
    return found
