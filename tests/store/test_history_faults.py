"""What happens to the history: kill -9, a full disk, damage, clocks, other users, other versions."""

from __future__ import annotations

import math
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_support import CORES, T0, fill, readings

from neuronwatch.store import database, history_file
from neuronwatch.store.errors import StoreError
from neuronwatch.store.history import FLUSH_SECONDS, History, Limits
from neuronwatch.store.history_query import Reader

MANY = tuple(f"nd{core}:nc0" for core in range(64))
ROOT = os.geteuid() == 0
WRITE = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from store_support import T0, readings
from neuronwatch.store.history import History
start = float(sys.argv[3])
history = History.open(Path(sys.argv[1]), start, threaded=False)
second = 0
while True:
    history.add(readings(start + second), start + second)
    sys.stdout.write(f"{second}\\n")
    sys.stdout.flush()
    second += 1
"""


def present(directory: Path, start: float, seconds: int, core: str = CORES[1]) -> dict[int, float]:
    """Second -> value of a core, each read at its full resolution."""
    reader = Reader(directory)
    try:
        column = reader.query("core.utilization", [core], start, start + seconds, points=seconds).columns.get(core)
        return {second: value for second, value in enumerate(column.mean if column else ()) if not math.isnan(value)}
    finally:
        reader.close()


def expected(start: float, second: int) -> float:
    return (10 + (start + second) % 10) / 2


def killed_once(directory: Path, start: float, chance: random.Random) -> int:
    """Starts a writer, kills it after a random number of rows, and returns the last second that it told."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE, directory, Path(__file__).parent, str(start)], stdout=subprocess.PIPE, text=True
    )
    try:
        for _ in range(chance.randrange(1, 900)):
            child.stdout.readline()
        time.sleep(chance.random() / 100)
    finally:
        child.send_signal(signal.SIGKILL)
    told = child.stdout.read().split("\n")
    child.wait()
    child.stdout.close()
    return max((int(word) for word in told[:-1]), default=0)


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_loses_at_most_what_was_not_flushed(tmp_path, seed):
    chance = random.Random(seed)
    start = T0
    for _ in range(2):
        last = killed_once(tmp_path, start, chance)
        found = present(tmp_path, start, last + 2)
        assert [second for second in range(int(last - FLUSH_SECONDS)) if second not in found] == []
        assert all(value == pytest.approx(expected(start, second)) for second, value in found.items())
        start += (last + 400) // 300 * 300 + 300
    again = History.open(tmp_path, start, threaded=False)
    fill(again, start, 320)
    again.close()
    assert again.health().aside == () and len(present(tmp_path, start, 320)) == 320


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_said_and_gets_over(small_disk):
    chance = random.Random(1)
    history = History.open(small_disk, T0, Limits(reserve=0), threaded=False)
    many = {"cores": MANY, "value": lambda core, when: (core * 10 + when % 10) / 2 if core == 1 else chance.random() * 100}
    fill(history, T0, 400, **many)
    hog = small_disk / "hog"
    with hog.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    last = fill(history, T0 + 400, 1500, **many)
    health = history.health()
    assert health.state == "full" and "full" in health.reason and health.lost == 0 and health.aside == ()
    found = history.query("core.utilization", [MANY[1]], T0, T0 + 300, 300)  # what was written is still read
    assert sum(not math.isnan(value) for value in found.columns[MANY[1]].mean) == 300
    hog.unlink()
    fill(history, last + 1, 100, **many)
    health = history.health()
    assert (health.state, health.reason, health.lost, health.aside) == ("ok", "", 0, ()) and health.waiting < 12
    history.close()
    found = present(small_disk, T0, 2000, MANY[1])
    assert sorted(found) == list(range(2000)) and all(
        value == pytest.approx(expected(T0, second)) for second, value in found.items()
    )


def test_a_disk_that_is_full_from_the_start(small_disk):
    hog = small_disk / "hog"
    with hog.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    history = History.open(small_disk, T0, Limits(reserve=0), threaded=False)
    fill(history, T0, 50)
    assert history.health().state == "full"
    hog.unlink()
    fill(history, T0 + 50, 50)
    assert history.health().state == "ok"
    history.close()
    assert len(present(small_disk, T0, 100)) == 100


def test_what_was_numbered_while_the_disk_was_full_is_numbered_again(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 15, metric="host.cpu")
    db = history._writer.keeper.db
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count={pages}")
    chance, many = random.Random(1), tuple(f"pid{number}" for number in range(900))
    fill(history, T0 + 15, 25, cores=many, metric="core.memory.used", value=lambda core, when: chance.random() * 1e12)
    assert history.health().state == "full"
    db.execute("PRAGMA max_page_count=1000000")
    fill(history, T0 + 40, 15, cores=many, metric="core.memory.used")
    assert history.health().state == "ok"
    found = history.query("core.memory.used", ["pid2"], T0, T0 + 40, 40).columns["pid2"].mean
    assert sum(not math.isnan(value) for value in found) == 25
    history.close()


def test_some_of_the_disk_is_left_to_others(tmp_path):
    history = History.open(tmp_path, T0, Limits(reserve=1 << 60), threaded=False)
    fill(history, T0, 30)
    assert history.health().state == "full" and "free" in history.health().reason
    history.close()


def test_on_a_disk_without_room_the_new_takes_the_place_of_the_old(tmp_path):
    history = History.open(tmp_path, T0, Limits(reserve=1 << 60, least=200_000), threaded=False)
    chance = random.Random(3)
    for number in range(6):
        fill(history, T0 + number * 3000, 3000, 2.0, cores=MANY, value=lambda core, when: chance.random() * 100)
    assert (tmp_path / history_file.FILE).stat().st_size < 1_000_000
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 18000, points=60).columns["nd0:nc0"]
    assert math.isnan(found.mean[0]) and not math.isnan(found.mean[-1])
    history.close()


def test_a_full_disk_for_long_keeps_memory_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("neuronwatch.store.history._WAITING_CELLS", 2000)

    def full(self, rows):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(history_file.File, "write_parts", full)
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 2000)
    health = history.health()
    assert health.waiting * len(CORES) <= 2000 + 11 * len(CORES) and health.waiting + health.lost == 2000
    history.close()


def test_a_file_that_may_not_grow(tmp_path):
    """RLIMIT_FSIZE, as a quota has it: an error of the write that is not ENOSPC."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            history = History.open(tmp_path, T0, threaded=False)
            fill(history, T0, 100)
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, limits[1]))
            fill(history, T0 + 100, 100)
            failed = history.health().state in ("failed", "full") and history.health().reason != ""
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            fill(history, T0 + 200, 100)
            code = 0 if failed and history.health().state == "ok" else 2
            history.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(present(tmp_path, T0, 300)) == 300


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A small history: two blocks and some parts."""
    directory = tmp_path_factory.mktemp("written")
    history = History.open(directory, T0, threaded=False)
    fill(history, T0, 700)
    history.close()
    return directory / history_file.FILE


def checked(directory: Path) -> None:
    """Opens a damaged history, writes to it, and reads it: new rows are there, nothing else is wrong with them."""
    start = T0 + 3600
    history = History.open(directory, start, threaded=False)
    fill(history, start, 330)
    history.add((), start + 350)
    health = history.health()
    assert health.state == "ok", health
    for points in (4, 1200):
        history.query("core.utilization", None, T0, T0 + 1200, points)
    history.close()
    for path in health.aside:
        assert path.is_file()
    found = present(directory, start, 330)
    assert all(value == pytest.approx(expected(start, second)) for second, value in found.items())
    missing = set(range(330)) - set(found)  # only what went into a file that was set aside later, when the damage was met
    assert not missing if not health.aside else missing == set(range(len(missing))) and len(missing) < 320


@settings(max_examples=20)
@given(st.data())
def test_damaged_anywhere(tmp_path_factory, written, data):
    directory = tmp_path_factory.mktemp("damaged")
    content = bytearray(written.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    for _ in range(data.draw(st.integers(1, 20))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (directory / history_file.FILE).write_bytes(content)
    try:
        checked(directory)
    except StoreError as error:
        assert isinstance(error, database.Newer) or "cannot be read" in str(error)  # the version's own bytes; a reader's word


@pytest.mark.parametrize("content", [b"not a database\n" * 300, b"SQLite format 3\0" + bytes(4080), b"\0" * 8192])
def test_what_is_no_history_is_set_aside(tmp_path, content):
    (tmp_path / history_file.FILE).write_bytes(content)
    history = History.open(tmp_path, T0, threaded=False)
    (aside,) = history.health().aside
    history.close()
    assert aside.read_bytes() == content and aside.name.startswith("history.sqlite.damaged-20251009T")
    checked(tmp_path)


def test_another_program_s_database_is_set_aside(tmp_path):
    with sqlite3.connect(tmp_path / history_file.FILE) as other:
        other.execute("CREATE TABLE precious (id)")
    other.close()
    checked(tmp_path)
    (aside,) = tmp_path.glob("*.damaged-*")
    assert b"precious" in aside.read_bytes()


def test_damage_while_running(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 700)
    history._writer.keeper.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (tmp_path / history_file.FILE).open("r+b") as file:
        size = file.seek(0, 2)
        for page in range(1, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    history._writer.keeper.db.execute("PRAGMA shrink_memory")
    fill(history, T0 + 700, 700)
    health = history.health()
    assert health.state == "ok" and len(health.aside) == 1 and health.aside[0].is_file()
    history.query("core.utilization", None, T0, T0 + 1400)
    history.close()
    assert len(present(tmp_path, T0 + 900, 500)) == 500


def test_a_disk_that_damages_all_is_said(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    for number in range(5):
        fill(history, T0 + number * 100, 50)
        history._writer.keeper._failed(database.Damage("malformed"), T0)
    assert history.health().state == "failed" and "again and again" in history.health().reason
    assert len(history.health().aside) == 3
    history.close()


def test_a_file_that_was_deleted_is_begun_anew(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 50)
    for path in tmp_path.iterdir():
        path.unlink()
    fill(history, T0 + 50, 50)
    assert history.health().state == "ok"
    history.query("core.utilization", None, T0, T0 + 100)
    history.close()
    assert sorted(present(tmp_path, T0, 100))[-1] == 99


def test_a_newer_schema_is_left_alone(tmp_path):
    History.open(tmp_path, T0, threaded=False).close()
    with sqlite3.connect(tmp_path / history_file.FILE) as newer:
        newer.execute("PRAGMA user_version=99")
    newer.close()
    before = (tmp_path / history_file.FILE).read_bytes()
    for opening in (lambda: History.open(tmp_path, T0), lambda: Reader(tmp_path)):
        with pytest.raises(StoreError, match="newer neuronwatch") as caught:
            opening()
        assert "\n" not in str(caught.value) and caught.value.mend
    assert (tmp_path / history_file.FILE).read_bytes() == before


def test_a_clock_that_goes_back_overwrites_nothing(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 1000, value=lambda core, when: 10.0)
    fill(history, T0 + 400, 600, value=lambda core, when: 30.0)
    fill(history, T0 + 990, 20, value=lambda core, when: 50.0)
    history.add((), T0 + 1300)
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 1200, points=4).columns["nd0:nc0"]
    assert list(found.low) == [10.0] * 4 and list(found.high) == [10.0, 30.0, 30.0, 50.0]
    fine = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 1200, points=1200).columns["nd0:nc0"]
    assert fine.mean[399] == 10.0 and fine.mean[500] == 20.0 and fine.mean[1005] == 50.0
    assert history.health().state == "ok" and history.health().aside == ()
    history.close()


def test_a_clock_far_in_the_future_leaves_a_gap_and_the_past(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 6000, 2.0)
    fill(history, T0 + 40 * 86400, 700)
    fill(history, T0 + 6000, 700)
    history.add((), T0 + 7000)
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 6600, points=22).columns["nd0:nc0"]
    assert sum(not math.isnan(value) for value in found.mean) >= 14  # the retention took at most two for each new one
    assert not math.isnan(found.mean[-1]) and history.health().state == "ok"
    history.close()


@pytest.mark.parametrize("clock", [0.0, -5.0, 1.0, 2.0**40])
def test_absurd_clocks(tmp_path, clock):
    history = History.open(tmp_path, clock, threaded=False)
    fill(history, clock, 20)
    fill(history, T0, 20)
    assert history.health().state == "ok"
    history.close()
    assert len(present(tmp_path, T0, 20)) == 20


def test_old_blocks_go_and_the_file_stays_flat(tmp_path):
    limits = Limits(days=2 / 24, size=1 << 40)
    history = History.open(tmp_path, T0, limits, threaded=False)
    sizes = []
    chance = random.Random(3)
    for hour in range(8):
        fill(history, T0 + hour * 3600, 3600, 4.0, value=lambda core, when: chance.random() * 100)
        sizes.append((tmp_path / history_file.FILE).stat().st_size)
    assert max(sizes[4:]) <= sizes[3] * 1.1
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 8 * 3600, points=96).columns["nd0:nc0"]
    assert 22 <= sum(not math.isnan(value) for value in found.mean) <= 27
    history.close()


def test_size_is_a_bound(tmp_path):
    history = History.open(tmp_path, T0, Limits(size=300_000), threaded=False)
    chance = random.Random(3)
    for number in range(6):
        fill(history, T0 + number * 3000, 3000, 2.0, value=lambda core, when: chance.random() * 100)
        assert history.health().size < 360_000
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 18000, points=60).columns["nd0:nc0"]
    assert math.isnan(found.mean[0]) and not math.isnan(found.mean[-1])
    history.close()


def test_files_are_ours_alone(tmp_path):
    old = os.umask(0)
    try:
        history = History.open(tmp_path, T0, threaded=False)
        fill(history, T0, 30)
    finally:
        os.umask(old)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    history.close()


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_another_user_is_told_so(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    fill(history, T0, 30)
    history.close()
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    for opening in (lambda: Reader(tmp_path), lambda: History.open(tmp_path, T0)):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setgid(65534)
                os.setuid(65534)
                try:
                    opening()
                except StoreError as error:
                    code = 0 if error.mend else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_hung_disk_does_not_stop_the_caller(tmp_path, monkeypatch):
    import threading

    released = threading.Event()
    original = history_file.File.write_parts
    monkeypatch.setattr(history_file.File, "write_parts", lambda self, rows: (released.wait(60), original(self, rows))[1])
    history = History.open(tmp_path, T0)
    fill(history, T0, 200)
    assert history.close(timeout=0.05) is False
    released.set()
    assert history.close(timeout=60)
    assert len(present(tmp_path, T0, 200)) == 200


def test_a_thread_reads_and_another_writes(tmp_path):
    history = History.open(tmp_path, T0)
    for number in range(40):
        time_ = T0 + number * 20
        for second in range(20):
            history.add(readings(time_ + second), time_ + second)
        for points in (3, 800):
            history.query("core.utilization", None, T0, T0 + 800, points)
    assert history.health().state == "ok"
    history.close(60)
    assert len(present(tmp_path, T0, 800)) == 800


@pytest.mark.parametrize("seed", range(4))
def test_a_power_loss_leaves_a_beginning(tmp_path, seed):
    """What the disk may hold after it: the file, and the write-ahead log up to any byte, the last of it garbage."""
    chance = random.Random(seed)
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    history = History.open(before, T0, threaded=False)
    fill(history, T0, chance.randrange(300, 900), cores=MANY)
    last = fill(history, T0 + 900, chance.randrange(20, 200), cores=MANY)
    (after / history_file.FILE).write_bytes((before / history_file.FILE).read_bytes())
    log = (before / f"{history_file.FILE}-wal").read_bytes()
    cut = chance.randrange(len(log))
    (after / f"{history_file.FILE}-wal").write_bytes(log[:cut] + chance.randbytes(chance.randrange(5000)))
    history.close()
    whole = present(before, T0, int(last - T0) + 1, MANY[1])
    again = History.open(after, last + 600, threaded=False)
    assert again.health().aside == ()
    fill(again, T0 + 3600, 320, cores=MANY)
    again.close()
    found = present(after, T0, 3600, MANY[1])
    assert list(found.items()) == list(whole.items())[: len(found)]
    assert len(present(after, T0 + 3600, 320, MANY[1])) == 320
