"""Clients of the daemon that meet one that is stopped, or that are killed themselves."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from daemon_support import Daemon, cli, small_host, until


@pytest.fixture
def daemon(tmp_path):
    with Daemon(small_host(tmp_path / "host"), tmp_path / "s") as running:
        yield running


def test_status_of_a_stopped_daemon_says_so(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: " T " in open(f"/proc/{daemon.pid}/stat").read(), "it is stopped")  # noqa: SIM115
        done = cli("status", "--state-dir", str(daemon.state))
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert done.returncode == 3 and f"pid {daemon.pid} is stopped" in done.stderr and done.stderr.count("\n") == 1
    assert daemon.answers()


def test_a_recording_ends_with_its_client(daemon, tmp_path):
    argv = [sys.executable, "-m", "neuronwatch", "record", "--state-dir", str(daemon.state), "--out"]
    with subprocess.Popen([*argv, str(tmp_path / "one")]) as client, daemon.client() as other:
        until(lambda: other.call("record")["active"], "the recording")
        client.kill()
        client.wait()
        until(lambda: not other.call("record")["active"], "its end")
        assert "who asked for it is gone" in daemon.said()
        done = cli("record", "--state-dir", str(daemon.state), "--out", str(tmp_path / "two"), "--seconds", "0.1")
        assert done.returncode == 0 and (tmp_path / "two").is_dir()


def test_a_recording_with_a_limit_outlives_its_client_and_ends(daemon, tmp_path):
    with daemon.client() as other:
        with daemon.client() as client:
            client.call("record", do="start", directory=str(tmp_path / "one"), seconds=1.5)
        assert other.call("record")["active"]
        until(lambda: not other.call("record")["active"], "its end")
        assert "its time is over" in daemon.said()


def test_a_client_notices_at_once_that_the_daemon_is_gone(daemon, tmp_path):
    argv = [sys.executable, "-m", "neuronwatch", "record", "--state-dir", str(daemon.state), "--out", str(tmp_path / "one")]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as client, daemon.client() as other:
        until(lambda: other.call("record")["active"], "the recording")
        daemon.process.kill()
        assert client.wait(60) == 1 and "closed the connection" in client.stderr.read()


def test_the_service_takes_a_state_directory(tmp_path):
    text = cli("service", "print", "--state-dir", str(tmp_path / "a $b%c")).stdout
    place = f'"{tmp_path}/a $b%%c"'
    assert f"ReadWritePaths={place}" in text and "StateDirectory=" not in text
    assert f"--state-dir {place.replace('$', '$$')}" in text
