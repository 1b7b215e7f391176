"""ps, logs, stop and restart, on real jobs."""

from __future__ import annotations

import json
import subprocess
import sys

from supervise_support import left, owner, started, until

from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.look import look


def verb(*words, state):
    command = [sys.executable, "-m", "neuronwatch", words[0], "--state-dir", str(state), *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_ps_tells_all_states(tmp_path):
    assert "no jobs" in verb("ps", state=tmp_path).stdout
    for name, words in (("good", ["true"]), ("bad", ["sh", "-c", "exit 4"]), ("killed", ["sh", "-c", "kill -9 $$"])):
        owner(tmp_path, *words, name=name).communicate(timeout=30)
    with owner(tmp_path, "sleep", "1000", name="lives") as process:
        pid = started(tmp_path, name="lives")
        text = verb("ps", state=tmp_path).stdout
        rows = {line.split()[0]: line for line in text.splitlines()[1:]}
        assert "done" in rows["good"] and "status 4" in rows["bad"] and "signal 9" in rows["killed"]
        assert "running" in rows["lives"] and str(pid) in rows["lives"]
        told = {job["name"]: job for job in json.loads(verb("ps", "--format", "json", state=tmp_path).stdout)["jobs"]}
        assert told["lives"]["owner"] == process.pid and told["bad"]["exit"]["status"] == 4
        process.kill()
        process.communicate(timeout=30)
        assert "no owner" in verb("ps", state=tmp_path).stdout
        assert verb("stop", "lives", "--grace", "1", state=tmp_path).returncode == 0
    assert left(tmp_path, "lives") == [] and look(JobDirectory(tmp_path, "lives")).state == "ended"


def test_stop_ends_and_restart_starts_the_next_run(tmp_path):
    with owner(tmp_path, "sh", "-c", "trap 'exit 9' TERM; while :; do sleep 0.05; done", options=("--policy", "act")) as process:
        started(tmp_path)
        assert verb("restart", "t", state=tmp_path).returncode == 0
        started(tmp_path, run=2)
        assert verb("stop", "t", state=tmp_path).returncode == 0
        assert process.wait(30) == 9
    assert len(JobDirectory(tmp_path, "t").runs()) == 2 and left(tmp_path) == []
    again = verb("restart", "t", state=tmp_path)
    assert again.returncode == 1 and "not running" in again.stderr


def test_logs_show_and_follow(tmp_path):
    script = "for i in 1 2 3 4; do echo line $i; done; echo oops >&2; sleep 0.5; echo last"
    with owner(tmp_path, "sh", "-c", script) as process:
        until(lambda: (JobDirectory(tmp_path, "t").newest() or 0) and started(tmp_path))
        followed = verb("logs", "t", "-f", state=tmp_path)
        assert followed.stdout.endswith("last\n") and followed.stderr == "oops\n"
        process.communicate(timeout=30)
    assert verb("logs", "t", "-n", "2", state=tmp_path).stdout == "line 4\nlast\n"
    assert verb("logs", "t", "-n", "0", state=tmp_path).stdout == ""


def test_a_name_that_is_none(tmp_path):
    owner(tmp_path, "true", name="training").communicate(timeout=30)
    assert "did you mean training" in verb("logs", "trainin", state=tmp_path).stderr
    for name in ("../x", "a/b", "", ".", "x" * 65, "a\nb"):
        with owner(tmp_path, "true", name=name) as process:
            _, said = process.communicate(timeout=30)
        assert process.returncode in (125, 64) and "Traceback" not in said


def test_a_caller_that_says_nothing_or_nonsense_holds_up_nobody(tmp_path):
    import socket

    with owner(tmp_path, "sleep", "1000", options=("--grace", "1")) as process:
        started(tmp_path)
        place = JobDirectory(tmp_path, "t").path / "control.sock"
        until(place.exists)
        silent = socket.socket(socket.AF_UNIX)
        silent.connect(str(place))
        for line in (b"\n", b"[]\n", b'{"do": "' + b"x" * 70_000, b'{"do": 7}\n'):
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(place))
                try:
                    other.sendall(line)
                    other.settimeout(10)
                    assert b'"ok": false' in other.recv(4096)
                except (BrokenPipeError, ConnectionResetError):
                    pass
        silent.close()
        assert verb("stop", "t", state=tmp_path).returncode == 0
        assert process.wait(30) == 143
