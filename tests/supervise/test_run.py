"""`neuronwatch run`: what goes in and out, how it ends, and that nothing is left."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from supervise_support import left, owner, started, until

from neuronwatch.supervise.directory import JobDirectory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs pidfd")


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_its_status_is_ours(script, code, tmp_path):
    with owner(tmp_path, "sh", "-c", script) as process:
        process.communicate(timeout=30)
    assert process.returncode == code
    ended = JobDirectory(tmp_path, "t").newest().ended()
    assert ended.code == code


@pytest.mark.parametrize(("command", "code"), [("/nonesuch/x", 127), ("/", 126), ("no-such-command-anywhere", 127)])
def test_a_command_that_cannot_be_started(command, code, tmp_path):
    with owner(tmp_path, command, options=("--policy", "act")) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == code and command in said and len(JobDirectory(tmp_path, "t").runs()) == 1


def test_output_is_passed_through_and_kept(tmp_path):
    script = "import sys\nfor i in range(20000):\n    print(i)\nprint('bad', file=sys.stderr)"
    with owner(tmp_path, sys.executable, "-c", script) as process:
        out, err = process.communicate(timeout=30)
    assert out.split() == [str(number) for number in range(20000)] and "bad" in err
    assert JobDirectory(tmp_path, "t").newest().stdout.read_text() == out


def test_a_reader_that_goes_away_does_not_hold_up_the_job(tmp_path):
    with owner(tmp_path, sys.executable, "-c", "import os\nfor _ in range(64): os.write(1, b'x' * 65536)\nprint('end')") as process:
        process.stdout.close()
        assert process.wait(30) == 0
    assert JobDirectory(tmp_path, "t").newest().stdout.read_bytes().endswith(b"end\n")


def test_signals_are_forwarded(tmp_path):
    script = "trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo up; while :; do sleep 0.05; done"
    with owner(tmp_path, "sh", "-c", script) as process:
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, signal.SIGUSR1)
        assert process.stdout.readline() == "usr1\n"
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "term\n"
        assert process.wait(30) == 5


def test_a_stubborn_tree_is_gone_after_its_grace(tmp_path):
    """Ignores SIGTERM, forks twice into sessions of their own, one of them stopped."""
    script = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in range(8):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        if number == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1000)
print('up', flush=True)
time.sleep(1000)
"""
    with owner(tmp_path, sys.executable, "-c", script, options=("--grace", "0.5")) as process:
        assert process.stdout.readline() == "up\n"
        until(lambda: len(left(tmp_path)) >= 9, "the tree")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 137
    assert left(tmp_path) == []


def test_what_a_command_leaves_behind_is_ended(tmp_path):
    with owner(tmp_path, "sh", "-c", "setsid sleep 1000 & exit 4") as process:
        assert process.wait(30) == 4
    assert left(tmp_path) == []


def test_the_next_owner_goes_on_where_one_was_killed(tmp_path):
    first = owner(tmp_path, "sh", "-c", "trap 'exit 6' TERM; echo up; while :; do sleep 0.05; done")
    pid = started(tmp_path)
    first.kill()
    first.communicate(timeout=30)
    os.kill(pid, 0)
    with owner(tmp_path) as second:
        assert "going on" in second.stderr.readline()
        os.kill(second.pid, signal.SIGTERM)
        assert second.wait(30) == 6
    assert len(JobDirectory(tmp_path, "t").runs()) == 1 and left(tmp_path) == []


def test_a_job_has_one_owner(tmp_path):
    with owner(tmp_path, "sleep", "1000") as first:
        started(tmp_path)
        with owner(tmp_path, "sleep", "1000") as second:
            _, said = second.communicate(timeout=30)
        assert second.returncode == 125 and "has an owner already" in said and str(first.pid) in said
        os.kill(first.pid, signal.SIGTERM)
    assert len(JobDirectory(tmp_path, "t").runs()) == 1


def test_a_killed_shim_is_never_success(tmp_path):
    with owner(tmp_path, "sleep", "1000", options=("--grace", "1")) as process:
        started(tmp_path)
        os.kill(JobDirectory(tmp_path, "t").newest().started().shim.pid, signal.SIGKILL)
        assert process.wait(30) == 125
    assert left(tmp_path) == [] and JobDirectory(tmp_path, "t").newest().ended() is None


def test_after_shim_and_owner_were_killed_nothing_starts_before_the_old_tree_is_gone(tmp_path):
    first = owner(tmp_path, "sh", "-c", "setsid sleep 1000 & echo up; sleep 1000")
    pid = started(tmp_path)
    first.kill()
    first.communicate(timeout=30)
    os.kill(JobDirectory(tmp_path, "t").newest().started().shim.pid, signal.SIGKILL)
    os.kill(pid, 0)
    with owner(tmp_path, "true", options=("--grace", "1")) as second:
        _, said = second.communicate(timeout=30)
    assert second.returncode == 0 and "status is unknown" in said and left(tmp_path) == []
    runs = JobDirectory(tmp_path, "t").runs()
    assert len(runs) == 2 and runs[0].ended() is None and runs[1].ended().ok


def test_restarts_until_it_is_done(tmp_path):
    count = tmp_path / "count"
    script = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n+1)) > {count}; [ $n -ge 2 ] || exit $((n+10))"
    with owner(tmp_path, "sh", "-c", script, options=("--policy", "act")) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0 and [run.ended().status for run in JobDirectory(tmp_path, "t").runs()] == [10, 11, 0]


def test_torn_and_hostile_files_are_set_aside(tmp_path):
    directory = JobDirectory(tmp_path, "t")
    directory.make()
    run = directory.next_run()
    run.path.mkdir()
    (run.path / "intent.json").write_text('{"mark": "x')
    (run.path / "started.json").write_text('{"boot_id": "b", "pid": 1, "start": 0, "shim": 1, "shim_start": 0, "time": 0}')
    (run.path / "exit.json").symlink_to("/etc/passwd")
    with owner(tmp_path, "true") as process:
        process.communicate(timeout=30)
    assert process.returncode == 0 and any("torn" in name for name in os.listdir(run.path))
    os.kill(1, 0)  # nothing of what a file names is signalled unless its start time is right
