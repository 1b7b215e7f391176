"""The daemon starts what is written down, and the jobs outlive it."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from daemon_support import Daemon, until

from neuronwatch.supervise import look, tree
from neuronwatch.supervise.directory import JobDirectory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs pidfd")


@pytest.fixture
def place(tmp_path):
    directory = tmp_path / "config" / "neuronwatch" / "jobs.d"
    directory.mkdir(parents=True)
    yield directory
    for run in (run for name in ("lives", "done") for run in JobDirectory(tmp_path / "state", name).runs()):
        owner = JobDirectory(tmp_path / "state", "lives").owner()
        if owner:
            os.kill(owner, signal.SIGKILL)
        look.tree_of(run).end(0)


def test_owners_outlive_the_daemon_and_what_is_done_stays_so(place, tmp_path):
    (place / "lives.toml").write_text("command = ['sleep', '1000']\nstart = true\ngrace = 1")
    (place / "done.toml").write_text("command = ['true']\nstart = true")
    (place / "not.toml").write_text("command = ['true']")
    (place / "bad.toml").write_text("comand = ['true']\nstart = true")
    lives, done = (JobDirectory(tmp_path / "state", name) for name in ("lives", "done"))
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with Daemon("/", tmp_path / "state", env=env) as daemon:
        until(lambda: lives.newest() and lives.newest().started(), "the job that lives")
        until(done.is_over, "the job that is done")
        assert "did you mean `command`" in daemon.said() and not (tmp_path / "state" / "jobs" / "not").exists()
        daemon.process.kill()
        daemon.process.wait()
    owner, command = lives.owner(), lives.newest().started().command.pid
    assert owner and tree.process(command) is not None
    with Daemon("/", tmp_path / "state", env=env) as daemon:
        until(lambda: "watching" in daemon.said(), "the second daemon")
        assert lives.owner() == owner and len(done.runs()) == 1
        os.kill(owner, signal.SIGKILL)
        until(lambda: lives.owner() not in (None, 0, owner), "the next owner")
        assert lives.newest().started().command.pid == command and len(lives.runs()) == 1  # it took over, it did not start
    os.kill(until(lives.owner, "its pid"), signal.SIGTERM)
    until(lambda: lives.owner() is None, "the end")
    assert not lives.is_over()  # somebody ended the owner, nobody said that the job is over
