"""What can befall the state directory while a daemon runs: deleted, replaced, taken, full, read-only, damaged."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from daemon_support import Daemon, cli, small_host, until
from test_incidents import RULE, VERSION

from neuronwatch.store.state_dir import Lock


@pytest.fixture
def place(tmp_path):
    """A host, a rule that fires on driver 1.1.1, which is not loaded yet, and a state directory."""
    host, rules = small_host(tmp_path / "host"), tmp_path / "rules"
    rules.mkdir()
    (rules / "one.toml").write_text(RULE.format(name="thing", version="1.1.1"))
    config = tmp_path / "c.toml"
    config.write_text("[sources.driver]\ninterval = 0.5\n")
    config.chmod(0o600)
    return host, ("--rules", str(rules), "--config", str(config)), tmp_path / "s"


@pytest.fixture
def disk(place):
    """The state directory as a file system of its own, of 48 MiB."""
    state = place[2]
    state.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=0700", "tmpfs", str(state)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems can only be mounted by root")
    yield state
    subprocess.run(["umount", "-l", str(state)], check=True)


def break_it(host):
    (host / VERSION).write_text("1.1.1\n")


def open_ids(daemon):
    with daemon.client() as client:
        return [item["id"] for item in client.call("incidents", state=["open"])["incidents"] if item["fault"] == "site.thing"]


def kept(daemon, name):
    with daemon.client() as client:
        return client.call("status")["daemon"][name]


def test_a_state_directory_that_is_deleted_is_made_anew(place):
    host, rules, state = place
    break_it(host)
    with Daemon(host, state, *rules) as daemon:
        (name,) = until(lambda: open_ids(daemon), "an incident")
        shutil.rmtree(state)
        until(lambda: daemon.answers() and (state / "judge.json").exists(), "an answer again")
        assert cli("status", "--state-dir", str(state)).returncode == 2
        assert state.stat().st_mode & 0o777 == 0o700 and "written anew" in daemon.said()
        assert cli("daemon", "--host-root", str(host), "--state-dir", str(state)).returncode == 1  # the lock holds
        until(lambda: rows(state, "incident") == [name], "the incident in the new journal")
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    with Daemon(host, state, *rules) as daemon:
        assert until(lambda: open_ids(daemon), "the incident") == [name]


def test_a_state_directory_that_is_moved_away_leaves_the_history_in_the_new_one(place):
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon:
        until(lambda: (state / "history.sqlite").exists(), "the history")
        state.rename(state.with_name("old"))
        until(daemon.answers, "an answer again")
        break_it(host)
        (name,) = until(lambda: open_ids(daemon), "an incident")
        until(lambda: rows(state, "incident") == [name], "it is in the new journal")
        assert rows(state.with_name("old"), "incident") == [] and kept(daemon, "directory")["state"] == "ok"


def test_a_socket_that_is_deleted_is_made_again(place):
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon, daemon.client() as client:
        daemon.socket.unlink()
        until(daemon.answers, "an answer again")
        assert client.call("status")["daemon"]["pid"] == daemon.pid  # who was connected still is
        daemon.end()
        assert not daemon.socket.exists()


def test_a_state_directory_that_another_daemon_has_taken_is_left(place):
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon:
        state.rename(state.with_name("old"))
        state.mkdir(mode=0o700)
        with Lock(state):
            assert daemon.process.wait(60) == 1
        assert "replaced" in daemon.said() and str(os.getpid()) in daemon.said()


def test_a_full_disk_is_said_and_takes_no_incident(place, disk):
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon:
        fill(state / "filler")
        break_it(host)
        (name,) = until(lambda: open_ids(daemon), "an incident although the disk is full")
        until(lambda: kept(daemon, "conditions")["state"] == "full", "it says so")
        until(lambda: kept(daemon, "journal")["state"] == "full", "it says so of the journal")
        shown = cli("status", "--state-dir", str(state))
        assert shown.returncode == 2 and "judge.json: full" in shown.stdout
        (state / "filler").unlink()
        until(lambda: kept(daemon, "conditions")["state"] == kept(daemon, "journal")["state"] == "ok", "it recovers")
        until(lambda: "conditions are full" in daemon.said() and "conditions are ok" in daemon.said(), "the log says both")
        assert rows(state, "incident") == [name]
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    with Daemon(host, state, *rules) as daemon:
        assert until(lambda: open_ids(daemon), "the incident") == [name]


def test_a_disk_that_is_full_at_the_start_is_no_obstacle(place, disk):
    host, rules, state = place
    break_it(host)
    fill(state / "filler")
    with Daemon(host, state, *rules) as daemon:
        (name,) = until(lambda: open_ids(daemon), "an incident")
        (state / "filler").unlink()
        until(lambda: kept(daemon, "journal")["state"] == "ok" and rows(state, "incident") == [name], "it recovers")


def test_a_disk_that_goes_away_and_comes_back(place, disk):
    """A file system that may only be read lies over the state directory, as after a device that was lost."""
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon, daemon.client() as client:
        over = ["mount", "-t", "tmpfs", "-o", "ro,mode=0700", "tmpfs", str(state)]
        subprocess.run(over, check=True)
        try:
            break_it(host)
            until(lambda: client.call("incidents", state=["open"])["incidents"], "an incident although nothing can be written")
            for name, why in (("directory", "not writable"), ("conditions", "read-only")):
                until(lambda name=name, why=why: why in client.call("status")["daemon"][name]["reason"], f"it says so of {name}")
            assert client.call("status")["daemon"]["directory"]["state"] == "lost"
            done = cli("daemon", "--host-root", str(host), "--state-dir", str(state))
            assert done.returncode == 1 and "writable" in done.stderr and done.stderr.count("\n") == 1
        finally:
            subprocess.run(["umount", str(state)], check=True)
        until(lambda: kept(daemon, "directory")["state"] == kept(daemon, "journal")["state"] == "ok", "it recovers")
        until(lambda: rows(state, "incident") == open_ids(daemon) != [], "the incident is kept")
        assert daemon.end() == 0 and not daemon.socket.exists()


@pytest.mark.parametrize("name", ["journal.sqlite", "history.sqlite", "judge.json"])
def test_a_damaged_file_is_set_aside_and_said(place, name):
    host, rules, state = place
    break_it(host)
    with Daemon(host, state, *rules) as daemon:
        (first,) = until(lambda: open_ids(daemon), "an incident")
        until(lambda: rows(state, "incident"), "it is in the journal")
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    for path in state.glob(f"{name}*"):
        path.write_bytes(b"\xff damaged \0" * 500)
    with Daemon(host, state, *rules) as daemon:
        found = until(lambda: open_ids(daemon), "the incident")
        assert list(state.glob(f"{name}*.damaged-*")) and "damaged" in until(daemon.said, "a word")
        if name == "judge.json":  # both of its generations: the old incident is closed and said, the new one has an id of its own
            assert found != [first]
            with daemon.client() as client:
                (old,) = client.call("incident", id=first)["incidents"]
            assert old["state"] == "resolved" and "lost" in old["revisions"][-1]["what"]
        else:
            assert found == [first]


def test_the_judges_memory_of_before_is_taken_where_the_newest_is_damaged(place):
    host, rules, state = place
    with Daemon(host, state, *rules) as daemon:
        break_it(host)
        (name,) = until(lambda: open_ids(daemon), "an incident")
        cli("ack", name, "--state-dir", str(state))
        assert daemon.end() == 0
    (state / "judge.json").write_bytes(b"")
    with Daemon(host, state, *rules) as daemon, daemon.client() as client:
        until(lambda: client.call("status")["incidents"], "an incident")
        assert [item["id"] for item in client.call("incidents")["incidents"] if item["fault"] == "site.thing"] == [name]


def fill(path):
    """Takes the last byte of a file system."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def rows(state, table):
    """The ids in a table of the journal, [] while it cannot be read."""
    try:
        with sqlite3.connect(f"file:{state}/journal.sqlite?mode=ro", uri=True) as db:
            return [row[0] for row in db.execute(f"SELECT id FROM {table} ORDER BY id")]
    except sqlite3.Error:
        return []
