"""What may go wrong around a job: full disks, closed descriptors, floods of processes, clocks that jump, hostile files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from supervise_support import left, owner, started, until

from neuronwatch.supervise.directory import JobDirectory

RANKS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
for rank in range(32):
    if os.fork() == 0:
        if rank % 3 == 0:
            os.setsid()
        if rank % 8 == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1000)
print('up', flush=True)
time.sleep(1000)
"""


def test_thirty_two_stubborn_ranks_are_gone_within_ten_seconds(tmp_path):
    with owner(tmp_path, sys.executable, "-S", "-c", RANKS) as process:
        assert process.stdout.readline() == "up\n"
        until(lambda: len(left(tmp_path)) >= 33, "the ranks")
        begun = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        until(lambda: not left(tmp_path), "the end")
        took = time.monotonic() - begun
        assert process.wait(60) == 137
    assert took < 10.0


def test_a_storm_of_short_lived_children_leaves_nothing(tmp_path):
    script = """
import os
for _ in range(1500):
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
        os._exit(0)
print('done', flush=True)
"""
    with owner(tmp_path, sys.executable, "-S", "-c", script) as process:
        out, said = process.communicate(timeout=120)
    assert process.returncode == 0 and out == "done\n" and left(tmp_path) == [] and "Traceback" not in said


def test_a_storm_that_goes_on_is_ended(tmp_path):
    """Each child has a child of its own and ends: who ends a tree looks at another one each time."""
    script = "import os, time\nfor _ in range(3):\n    os.fork()\nwhile True:\n    if os.fork():\n        time.sleep(0.01)\n        os._exit(0)"
    with owner(tmp_path, sys.executable, "-S", "-c", script, options=("--grace", "0.2")) as process:
        _, said = process.communicate(timeout=120)  # the command ends at once, what it left goes on
    assert process.returncode == 0 and left(tmp_path) == [] and "Traceback" not in said


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_standard_descriptors(closed, tmp_path):
    words = [sys.executable, "-m", "neuronwatch", "run", "--name", "t", "--state-dir", str(tmp_path), "--", "sh", "-c",
             "echo out; echo err >&2; exit 6"]  # fmt: skip
    shell = f"exec {' '.join(map(repr, words))} " + " ".join(f"{number}>&-" for number in closed)
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
    run = JobDirectory(tmp_path, "t").newest()
    assert done.returncode == 6, done.stderr
    assert run.stdout.read_text() == "out\n" and run.stderr.read_text() == "err\n"
    for path in (run.path / "intent.json", run.path / "started.json", run.path / "exit.json"):
        json.loads(path.read_text())  # nothing of the job's output went into a file that took a closed descriptor's number


def test_a_clock_that_jumps_back_and_forth(tmp_path):
    """The wall clock of the owner jumps by days at each look; restarts, waits and the report hold."""
    (tmp_path / "sitecustomize.py").write_text(
        "import time\nreal, looks = time.time, [0]\ndef jumping():\n    looks[0] += 1\n"
        "    return max(0.0, real() + (-1) ** looks[0] * 86400 * looks[0])\ntime.time = jumping\n"
    )
    count, report = tmp_path / "count", tmp_path / "report.json"
    script = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n+1)) > {count}; [ $n -ge 2 ] || exit $((n+10))"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with owner(tmp_path / "state", "sh", "-c", script, options=("--policy", "act", "--report", str(report)), env=env) as process:
        _, said = process.communicate(timeout=60)
    document = json.loads(report.read_text())
    assert process.returncode == 0 and [run["exit"] for run in document["runs"]] == [10, 11, 0] and "Traceback" not in said
    assert document["lost"]["between"] >= 0 and document["lost"]["failed_runs"] >= 0


def test_a_stopped_owner_does_not_hold_up_its_job(tmp_path):
    with owner(tmp_path, "sh", "-c", "for i in 1 2 3 4 5; do echo $i; done; exit 3") as process:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGCONT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3 and out.split() == ["1", "2", "3", "4", "5"]


def test_a_report_into_a_pipe_that_nobody_reads_holds_up_nothing(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with owner(tmp_path / "state", "sh", "-c", "exit 3", options=("--report", str(tmp_path / "fifo"))) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3 and "cannot be written" in said


@pytest.mark.parametrize(
    "name", ["owner.lock", "spec.json", "current.json", "state.json", "audit.jsonl", "control.sock", "over.json"]
)
@pytest.mark.parametrize("what", ["torn", "directory", "link", "fifo"])
def test_hostile_files_of_a_job(name, what, tmp_path):
    """The job runs, or is refused in one line with 125: never a traceback, never a wait, never what the link leads to."""
    directory = JobDirectory(tmp_path / "state", "t")
    directory.make()
    place, secret = directory.path / name, tmp_path / "secret"
    secret.write_text("keep me")
    {
        "torn": lambda: place.write_text('{"name": "t", "argv": ["rm", "-'),
        "directory": lambda: (place / "x").mkdir(parents=True),
        "link": lambda: place.symlink_to(secret),
        "fifo": lambda: os.mkfifo(place),
        "binary": lambda: place.write_bytes(os.urandom(5000)),
    }[what]()
    with owner(tmp_path / "state", "true", options=("--policy", "act")) as process:
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said and "defect" not in said and secret.read_text() == "keep me"
    assert process.returncode == 0 or (process.returncode == 125 and str(place.name) in said)


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k,mode=700", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_disk_that_fills_up_loses_no_status(small_disk):
    """The job's own output fills the disk: how it ended is known all the same."""
    script = "import os, sys\ntry:\n    while True: os.write(1, b'x' * 4096)\nexcept OSError: os._exit(7)"
    with owner(small_disk, sys.executable, "-S", "-c", script) as process:
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(timeout=60)
    assert process.returncode == 7 and "Traceback" not in said
    assert JobDirectory(small_disk, "t").newest().ended().status == 7


def test_a_full_disk_from_the_start_is_said(small_disk):
    filler = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
    for size in (65536, 1):
        try:
            while os.write(filler, b"x" * size):
                pass
        except OSError:
            continue
    os.close(filler)
    with owner(small_disk, "true", options=("--policy", "act")) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 125 and "Traceback" not in said and "o space left" in said
    assert shutil.disk_usage(small_disk).free < 65536


def test_two_owners_that_begin_at_once(tmp_path):
    both = [owner(tmp_path, "sh", "-c", "sleep 0.5; exit 3") for _ in range(2)]
    codes = sorted(process.communicate(timeout=60) and process.returncode for process in both)
    assert codes in ([3, 125], [3, 3]) and all(run.ended().status == 3 for run in JobDirectory(tmp_path, "t").runs())
    assert len(JobDirectory(tmp_path, "t").runs()) == codes.count(3)


def test_a_job_killed_before_it_could_begin(tmp_path):
    """What waits behind the gate is killed: that is the end of the run, and the next one begins."""
    with owner(tmp_path, "sleep", "1000", options=("--policy", "act", "--grace", "1")) as process:
        first = started(tmp_path)
        until(lambda: (JobDirectory(tmp_path, "t").path / "runs").is_dir(), "the runs")
        os.kill(first, signal.SIGKILL)
        second = started(tmp_path, run=2)
        assert second != first
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 143
    assert left(tmp_path) == []
