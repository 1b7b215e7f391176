from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuronwatch.store import state_dir
from neuronwatch.store.errors import Busy, StoreError

HOLD = """
import sys
from pathlib import Path
from neuronwatch.store.state_dir import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""
ROOT = os.geteuid() == 0


def test_where_it_is(tmp_path):
    assert state_dir.default(None, {"STATE_DIRECTORY": "/a:/b"}, 1000) == Path("/a")
    assert state_dir.default(None, {}, 0) == Path("/var/lib/neuronwatch")
    assert state_dir.default(None, {"XDG_STATE_HOME": "/x", "HOME": "/h"}, 1000) == Path("/x/neuronwatch")
    assert state_dir.default(None, {"XDG_STATE_HOME": "x", "HOME": "/h"}, 1000) == Path("/h/.local/state/neuronwatch")
    assert state_dir.default(tmp_path, {"STATE_DIRECTORY": "/a"}, 0) == tmp_path / "var/lib/neuronwatch"
    assert state_dir.default(Path("/"), {}, 0) == Path("/var/lib/neuronwatch")
    with pytest.raises(StoreError):
        state_dir.default(None, {}, 1000)


def test_it_is_made_for_us_alone(tmp_path):
    path = state_dir.prepare(tmp_path / "a/b")
    assert path.stat().st_mode & 0o777 == 0o700
    assert state_dir.prepare(path) == path


def test_a_file_in_its_place(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(StoreError) as caught:
            state_dir.prepare(path)
        assert "\n" not in str(caught.value) and caught.value.mend


def test_others_may_not_write_to_it(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(StoreError, match="others may write") as caught:
        state_dir.prepare(tmp_path)
    assert "chmod" in caught.value.mend
    tmp_path.chmod(0o755)
    state_dir.prepare(tmp_path)


@pytest.mark.skipif(not ROOT, reason="needs root to give a directory away")
def test_it_is_not_another_user_s(tmp_path):
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(StoreError, match="belongs to uid 65534"):
        state_dir.prepare(tmp_path)


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_a_directory_that_may_not_be_written(tmp_path):
    place = tmp_path / "state"
    place.mkdir(mode=0o500)
    os.chown(place, 65534, 65534)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            try:
                state_dir.prepare(place)
            except StoreError as error:
                code = 0 if "not writable" in str(error) and error.mend else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_one_daemon_each(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(Busy) as caught:
            state_dir.Lock(tmp_path)
        assert caught.value.pid == child.pid == state_dir.owner(tmp_path) and str(child.pid) in str(caught.value)
    finally:
        child.kill()
        child.communicate()
    with state_dir.Lock(tmp_path):  # killed: the lock is free at once
        assert state_dir.owner(tmp_path) == os.getpid()
    state_dir.Lock(tmp_path).release()


@pytest.mark.parametrize("content", [b"", b"x", b"-5\n", b"999999999999999\n", b"\xff\xfe"])
def test_a_lock_file_with_anything_in_it(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    assert state_dir.owner(tmp_path) == 0
    state_dir.Lock(tmp_path).release()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        state_dir.Lock(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_socket_path_that_is_too_long(tmp_path):
    assert state_dir.socket_path(Path("/var/lib/neuronwatch")) == Path("/var/lib/neuronwatch/neuronwatch.sock")
    fits = Path("/" + "a" * 106)
    assert state_dir.socket_path(tmp_path, fits) == fits
    with pytest.raises(StoreError, match="107") as caught:
        state_dir.socket_path(tmp_path, Path("/" + "ü" * 60))
    assert "--socket" in caught.value.mend
