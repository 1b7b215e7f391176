"""The life of a daemon: start, one per state directory, ends without a trace."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys

import pytest
from daemon_support import Daemon, cli, small_host, until


@pytest.fixture
def host(tmp_path):
    return small_host(tmp_path / "host")


def test_it_answers_and_ends_without_a_trace(host, tmp_path):
    with Daemon(host, tmp_path / "s") as daemon:
        mode = daemon.socket.lstat().st_mode
        assert stat.S_ISSOCK(mode) and mode & 0o777 == 0o600
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
        with daemon.client() as client:
            assert client.hello["pid"] == daemon.pid
            assert client.call("status")["daemon"]["pid"] == daemon.pid
        assert daemon.end() == 0
        assert not daemon.socket.exists()


def test_status_without_a_daemon_is_unknown_and_says_how_to_mend_it(tmp_path):
    done = cli("status", "--state-dir", str(tmp_path), "--format", "json")
    assert done.returncode == 3 and "neuronwatch daemon" in done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "unknown" and document["daemon"] is None and document["unknown"]


def test_without_a_rule_it_is_blind_not_healthy(host, tmp_path):
    (tmp_path / "none").mkdir()
    with Daemon(host, tmp_path / "s", "--rules", str(tmp_path / "none")) as daemon, daemon.client() as client:
        document = until(lambda: "no rule is in use" in str((now := client.call("status"))["reasons"]) and now, "the reason")
        assert document["verdict"] == "unknown"


@pytest.mark.parametrize("verb", [("incidents",), ("incidents", "show", "abc"), ("ack", "abc")])
def test_without_a_daemon_a_verb_still_prints_json(tmp_path, verb):
    done = cli(*verb, "--state-dir", str(tmp_path), "--format", "json")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["error"]["code"] == "unavailable"


def test_a_hangup_while_it_starts_does_not_end_it():
    script = (
        "import os, signal, argparse\n"
        "from neuronwatch.cli import daemon, settings\n"
        "def load(_path):\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    raise SystemExit(7)\n"
        "settings.load = load\n"
        "daemon.run(argparse.Namespace(config=None))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 7


def test_a_second_daemon_names_the_first_one(host, tmp_path):
    with Daemon(host, tmp_path / "s") as daemon:
        done = cli("daemon", "--host-root", str(host), "--state-dir", str(tmp_path / "s"))
        assert done.returncode == 1 and str(daemon.pid) in done.stderr and done.stderr.count("\n") == 1
        assert daemon.answers()


def test_a_killed_daemon_leaves_no_obstacle(host, tmp_path):
    with Daemon(host, tmp_path / "s") as daemon:
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        assert daemon.socket.exists()
    with Daemon(host, tmp_path / "s") as daemon:
        assert daemon.answers()


def test_a_socket_of_somebody_else_is_left_alone(host, tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "x.sock"))
        other.listen()
        done = cli("daemon", "--host-root", str(host), "--state-dir", str(tmp_path / "s"), "--socket", str(tmp_path / "x.sock"))
        assert done.returncode == 1 and "listens there" in done.stderr
        assert (tmp_path / "x.sock").exists()


def test_a_too_long_socket_path_is_one_line(host, tmp_path):
    done = cli("daemon", "--host-root", str(host), "--state-dir", str(tmp_path / "s"), "--socket", f"/tmp/{'x' * 110}")
    assert done.returncode == 1 and "107" in done.stderr and done.stderr.count("\n") == 1


def test_an_interrupt_ends_it_too(host, tmp_path):
    with Daemon(host, tmp_path / "s") as daemon:
        daemon.process.send_signal(signal.SIGINT)
        assert daemon.process.wait(30) == 0
        until(lambda: not daemon.socket.exists(), "the socket is gone")
