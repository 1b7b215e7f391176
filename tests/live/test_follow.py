"""Real files, real writers, real rotations: every line once, under the right path and number."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuronwatch.model.live import Appended
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import follow as module
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.live.inotify import Timer


class Reader:
    """A follower with a clock of its own, and all lines that it gave, with path and number."""

    def __init__(self, root: Path, *patterns: str, start: float = 0.0, **more) -> None:
        self.now = start
        self.root = root
        self.follower = Follower(HostRoot(root), patterns or ("/var/log/*.log",), **more)
        self.lines: list[tuple[str, int, bytes]] = []
        self._next: dict[str, int] = {}
        self._open: dict[str, bytes] = {}

    def read(self, passed: float = 0.2) -> list[Appended]:
        found = []
        for _ in range(3):
            self.now += passed / 3
            found += self.follower.read(self.now, time.time())
        while self.follower.more:
            found += self.follower.read(self.now, time.time())
        for item in found:
            self.take(item)
        return found

    def take(self, item: Appended) -> None:
        if item.fresh:
            self._next[item.path] = item.line
            self._open.pop(item.path, None)
        self._next[item.path] += item.dropped
        data = self._open.pop(item.path, b"") + item.data
        *lines, rest = data.split(b"\n")
        for line in lines:
            self.lines.append((item.path, self._next[item.path], line))
            self._next[item.path] += 1
        if rest:
            self._open[item.path] = rest

    def said(self, path: str | None = None) -> list[bytes]:
        return [line for where, _, line in self.lines if path is None or where == path]

    def again(self, **more) -> Reader:
        """The next daemon, after this one ended."""
        positions = self.follower.positions()
        self.follower.close()
        return Reader(self.root, *self.follower._patterns, start=self.now + 100, positions=positions, **more)


@pytest.fixture(params=[True, False], ids=["inotify", "polling"])
def watch(request):
    return request.param


@pytest.fixture
def logs(tmp_path):
    (tmp_path / "var/log").mkdir(parents=True)
    return tmp_path / "var/log"


def numbered(low: int, high: int) -> bytes:
    return b"".join(b"line %06d of a log that has some more words in it\n" % n for n in range(low, high))


def expected(low: int, high: int) -> list[bytes]:
    return numbered(low, high).splitlines()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as handle:
        handle.write(data)


def test_new_lines_of_old_and_new_files(logs, tmp_path, watch):
    append(logs / "a.log", numbered(0, 10))
    reader = Reader(tmp_path, watch=watch)
    reader.read()
    append(logs / "a.log", numbered(10, 12))
    append(logs / "b.log", numbered(0, 3))
    reader.read(20.0)
    assert reader.said("host:/var/log/a.log") == expected(0, 12)
    assert reader.said("host:/var/log/b.log") == expected(0, 3)
    assert [number for path, number, _ in reader.lines if path.endswith("a.log")] == list(range(1, 13))
    (logs / "b.log").unlink()
    append(logs / "b.log", b"another\n")
    reader.read(20.0)
    assert reader.lines[-1] == ("host:/var/log/b.log", 1, b"another")
    reader.follower.close()


def test_of_a_big_old_file_only_the_end_is_read_and_lines_are_counted(logs, tmp_path):
    append(logs / "a.log", numbered(0, 50_000))
    reader = Reader(tmp_path, history=10_000)
    reader.read()
    _, number, line = reader.lines[0]
    assert 49_000 < number <= 50_000 and line == expected(number - 1, number)[0]
    assert reader.said()[-1] == expected(49_999, 50_000)[0]
    os.utime(logs / "a.log", (1, 1))
    reader.follower.close()
    reader = Reader(tmp_path, history=10_000)  # nobody wrote to it for long
    reader.read()
    assert not reader.lines
    append(logs / "a.log", b"now\n")
    reader.read(3.0)
    assert reader.lines == [("host:/var/log/a.log", 50_001, b"now")]
    reader.follower.close()


def test_renamed_and_created(logs, tmp_path, watch):
    reader = Reader(tmp_path, watch=watch)
    append(logs / "a.log", numbered(0, 5))
    reader.read(20.0)
    append(logs / "a.log", numbered(5, 9))
    (logs / "a.log").rename(logs / "a.log.1")
    append(logs / "a.log", numbered(9, 12))
    reader.read(20.0)
    assert reader.said() == expected(0, 12)
    assert reader.lines[-1][:2] == ("host:/var/log/a.log", 3)
    reader.follower.close()


def test_renamed_while_the_writer_goes_on(logs, tmp_path, watch):
    """Late rename: until the writer opens the new file it writes to the old one, and perhaps another writer still does."""
    reader = Reader(tmp_path, watch=watch)
    with (logs / "a.log").open("ab", buffering=0) as old:
        old.write(numbered(0, 5))
        reader.read(20.0)
        (logs / "a.log").rename(logs / "a.log.1")
        (logs / "a.log").touch()
        old.write(numbered(5, 8))
        reader.read(20.0)
        old.write(numbered(8, 10))
        reader.read(30.0)
        assert reader.said("host:/var/log/a.log") == expected(0, 10)
        append(logs / "a.log", b"new 1\nnew 2\n")
        reader.read(3.0)
        old.write(numbered(10, 12))
        reader.read(3.0)
    assert reader.lines[-4:] == [
        ("host:/var/log/a.log", 1, b"new 1"), ("host:/var/log/a.log", 2, b"new 2"),
        ("host:/var/log/a.log.1", 11, expected(10, 11)[0]), ("host:/var/log/a.log.1", 12, expected(11, 12)[0]),
    ]  # fmt: skip
    reader.read(300.0)
    assert len(reader.follower._logs["/var/log/a.log"].files) == 1  # the old one was given up
    reader.follower.close()


def test_copied_and_truncated(logs, tmp_path, watch):
    """Also when it is as long as before by the time anybody looks, and what was not read is in the copy."""
    reader = Reader(tmp_path, watch=watch)
    log = logs / "a.log"
    append(log, numbered(0, 20))
    reader.read(20.0)
    append(log, numbered(20, 25))
    shutil.copyfile(log, logs / "a.log.1")
    os.truncate(log, 0)
    append(log, numbered(25, 70))
    reader.read(20.0)
    assert reader.said() == expected(0, 70)
    assert reader.lines[20][:2] == ("host:/var/log/a.log.1", 21) and reader.lines[25][:2] == ("host:/var/log/a.log", 1)
    reader.follower.close()


def test_a_truncated_file_whose_writer_goes_on_at_its_old_place(logs, tmp_path):
    reader = Reader(tmp_path)
    with (logs / "a.log").open("wb", buffering=0) as writer:
        writer.write(numbered(0, 400))
        reader.read(20.0)
        os.truncate(logs / "a.log", 0)
        writer.write(numbered(400, 410))
        reader.read(3.0)
        writer.write(numbered(410, 412))
        reader.read(3.0)
    assert [line.strip(b"\0") for line in reader.said()] == expected(0, 412)
    assert reader.lines[-1][1] == 12
    reader.follower.close()


def test_a_file_that_is_written_anew_with_the_same_text_goes_on(logs, tmp_path, watch):
    reader = Reader(tmp_path, watch=watch)
    log = logs / "a.log"
    append(log, numbered(0, 20))
    reader.read(20.0)
    append(logs / "new", log.read_bytes() + numbered(20, 25))
    (logs / "new").rename(log)
    reader.read(20.0)
    assert reader.said() == expected(0, 25) and reader.lines[-1][1] == 25
    reader.follower.close()


def test_rotated_names_that_the_pattern_finds_are_not_read_again(logs, tmp_path, watch):
    reader = Reader(tmp_path, "/var/log/*", watch=watch)
    log = logs / "a.log"
    append(log, numbered(0, 20))
    reader.read(20.0)
    log.rename(logs / "a.log.1")
    append(log, numbered(20, 30))
    reader.read(20.0)
    (logs / "a.log.2").touch()
    shutil.copyfile(log, logs / "a.log.2")
    os.truncate(log, 0)
    append(log, numbered(30, 40))
    for _ in range(8):
        reader.read(20.0)  # the renamed one is given up, its name stays
    with gzip.open(logs / "a.log.3.gz", "wb") as packed:
        packed.write(numbered(0, 20))
    reader.read(20.0)
    assert reader.said() == expected(0, 40)
    append(logs / "a.log.1", b"somebody still writes\n")
    reader.read(40.0)
    assert reader.lines[-1][1:] == (21, b"somebody still writes")
    assert {(report.path, report.state) for report in reader.follower.reports()} == {("host:/var/log/a.log.3.gz", "skipped")}
    reader.follower.close()
    assert reader.said() == [*expected(0, 40), b"somebody still writes"]


@pytest.mark.parametrize("rotation", ["none", "renamed", "twice", "compressed", "copied", "truncated"])
def test_reading_goes_on_after_a_restart(logs, tmp_path, rotation):
    log = logs / "a.log"
    reader = Reader(tmp_path)
    append(log, numbered(0, 20))
    reader.read(20.0)
    append(log, numbered(20, 30))
    if rotation != "none":
        if rotation in ("copied", "truncated"):
            if rotation == "copied":
                shutil.copyfile(log, logs / "a.log.1")
            os.truncate(log, 0)
        else:
            log.rename(logs / "a.log.1")
        append(log, numbered(30, 40))
    if rotation == "twice":
        os.utime(logs / "a.log.1", (time.time() - 50, time.time() - 50))
        (logs / "a.log.1").rename(logs / "a.log.2")
        log.rename(logs / "a.log.1")
        append(log, numbered(40, 45))
    if rotation == "compressed":
        (logs / "a.log.1.gz").write_bytes(gzip.compress((logs / "a.log.1").read_bytes()))
        (logs / "a.log.1").unlink()
    again = reader.again()
    again.read(20.0)
    end = {"none": 30, "twice": 45}.get(rotation, 40)
    if rotation == "truncated":  # lines 20 to 29 are nowhere any more, and that is said
        assert again.said() == expected(30, 40)
        assert [report.state for report in again.follower.reports()] == ["partial"]
    else:
        assert again.said() == expected(20, end)
        assert again.lines[0][1] == 21
    third = again.again()
    third.read(20.0)
    assert not third.lines
    third.follower.close()


def test_a_line_waits_for_its_end_but_not_for_ever(logs, tmp_path):
    reader = Reader(tmp_path)
    log = logs / "a.log"
    append(log, b"one\ntw")
    reader.read(0.3)
    assert reader.said() == [b"one"]
    append(log, b"o\nthr")
    reader.read(0.3)
    assert reader.said() == [b"one", b"two"]
    reader.read(9.0)
    assert reader._open == {"host:/var/log/a.log": b"thr"}
    append(log, b"ee\nfour\n")
    reader.read(3.0)
    assert reader.lines[-2:] == [("host:/var/log/a.log", 3, b"three"), ("host:/var/log/a.log", 4, b"four")]
    append(log, b"x" * 1_000_000)
    pieces = reader.read(3.0)
    assert max(len(piece.data) for piece in pieces) <= 4 * module.SLICE
    append(log, b"\nnext\n")
    reader.read(3.0)
    assert reader.lines[-2][2] == b"x" * 1_000_000 and reader.lines[-1][1:] == (6, b"next")
    reader.follower.close()


def test_what_is_no_log_is_said(logs, tmp_path):
    os.mkfifo(logs / "fifo.log")
    (logs / "directory.log").mkdir()
    (logs / "outside.log").symlink_to("/etc/passwd")
    reader = Reader(tmp_path)
    reader.read(20.0)
    assert {(report.path, report.state) for report in reader.follower.reports()} == {("host:/var/log/fifo.log", "skipped")}
    assert not reader.lines and reader.follower.followed == []
    reader.follower.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_without_permission_and_then_with(logs, tmp_path):
    """As uid 65534: the log is another user's."""
    append(logs / "a.log", numbered(0, 3))
    (logs / "a.log").chmod(0o600)
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and str(place).startswith("/tmp/"):
            place.chmod(place.stat().st_mode | 0o055)
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(module.__file__).parents[3])!r})
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.host.root import HostRoot
os.setuid(65534)
follower = Follower(HostRoot({str(tmp_path)!r}), ["/var/log/*.log"])
follower.read(1.0, 1.0)
print(follower.reports(), flush=True)
sys.stdin.readline()
print(follower.read(99.0, 99.0), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        assert "permission denied" in process.stdout.readline()
        (logs / "a.log").chmod(0o644)
        process.stdin.write("\n")
        process.stdin.flush()
        assert "line 000002" in process.stdout.readline()


def test_names_that_change_under_a_link_and_directories(logs, tmp_path):
    append(logs / "run1.log", b"one\n")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/latest").symlink_to("/var/log/run1.log")
    append(tmp_path / "jobs/other.txt", b"x\n")
    reader = Reader(tmp_path, "/jobs", "/var/log/run1.log", "/new/*/out")
    reader.read()
    assert sorted(reader.lines) == [("host:/jobs/other.txt", 1, b"x"), ("host:/var/log/run1.log", 1, b"one")]
    append(logs / "run2.log", b"two\n")
    (tmp_path / "jobs/latest").unlink()
    (tmp_path / "jobs/latest").symlink_to("/var/log/run2.log")
    (tmp_path / "new/a").mkdir(parents=True)
    append(tmp_path / "new/a/out", b"out\n")
    reader.read(40.0)
    reader.read(40.0)
    assert ("host:/var/log/run2.log", 1, b"two") in reader.lines and ("host:/new/a/out", 1, b"out") in reader.lines
    reader.follower.want(["/jobs"])
    append(tmp_path / "new/a/out", b"more\n")
    reader.read(3.0)
    assert reader.lines[-1] == ("host:/new/a/out", 2, b"more")
    reader.follower.close()


def test_inotify_wakes_at_once(logs, tmp_path):
    import select

    append(logs / "a.log", b"one\n")
    reader = Reader(tmp_path)
    reader.read()
    assert reader.follower.descriptor is not None
    assert not select.select([reader.follower.descriptor], [], [], 0)[0]
    append(logs / "a.log", b"two\n")
    assert select.select([reader.follower.descriptor], [], [], 5)[0]
    reader.read(0)
    assert reader.said() == [b"one", b"two"]
    append(logs / "new.log", b"new\n")
    assert select.select([reader.follower.descriptor], [], [], 5)[0]
    reader.read()
    assert reader.said()[-1] == b"new"
    reader.follower.close()


def test_timer():
    import select

    timer = Timer()
    assert not select.select([timer.descriptor], [], [], 0)[0]
    timer.start(0.005)
    assert select.select([timer.descriptor], [], [], 5)[0]
    timer.stop()
    assert not select.select([timer.descriptor], [], [], 0)[0]
    timer.close()


def test_a_generation_that_came_and_went_between_two_reads_is_in_its_copy(logs, tmp_path, watch):
    """The reader saw the file empty, or not at all, and then only the next generation but one."""
    log = logs / "a.log"
    log.touch()
    reader = Reader(tmp_path, watch=watch)
    reader.read()
    number = 0
    for turn in range(4):
        for part in range(1 + turn % 3):
            append(log, numbered(number, number + 10))
            number += 10
            shutil.copyfile(log, logs / f"a.log.{turn}{part}")
            os.truncate(log, 0)
        if turn % 2:
            append(log, numbered(number, number + 5))
            number += 5
        reader.read(3.0)
    append(log, numbered(number, number + 3))
    reader.read(3.0)
    assert reader.said() == expected(0, number + 3)
    reader.follower.close()


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_a_copy_that_is_made_of_a_file_that_nobody_read_yet_doubles_nothing(logs, tmp_path, watch, share):
    log = logs / "a.log"
    log.touch()
    reader = Reader(tmp_path, watch=watch)
    reader.read()
    append(log, numbered(0, 40))
    whole = log.read_bytes()
    append(logs / "a.log.1", whole[: int(share * len(whole))])
    reader.read(0.3)
    append(logs / "a.log.1", whole[int(share * len(whole)) :])
    reader.read(0.3)
    os.truncate(log, 0)
    append(log, numbered(40, 50))
    reader.read(3.0)
    reader.read(20.0)
    assert reader.said() == expected(0, 50)
    reader.follower.close()


WRITER = """
import os, sys, time
path, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
out = open(path, "ab", buffering=0)
for n in range(count):
    out.write(b"line %06d of a log that has some more words in it\\n" % n)
    if n % 1000 == 700 and mode != "copytruncate":
        os.rename(path, path + "." + str(n))
        if mode == "rename":
            out = open(path, "ab", buffering=0)
        else:
            open(path, "ab").close()
    if n % 1000 == 850 and mode == "late":
        out = open(path, "ab", buffering=0)
    if n % 1000 == 700 and mode == "copytruncate":
        with open(path, "rb") as one, open(path + "." + str(n), "wb") as two:
            two.write(one.read())
        os.truncate(path, 0)
    if n % 100 == 0:
        time.sleep(0.001)
"""


@pytest.mark.parametrize("mode", ["rename", "late", "copytruncate"])
def test_a_writer_that_rotates_loses_no_line_and_doubles_none(logs, tmp_path, mode, watch):
    reader = Reader(tmp_path, watch=watch)
    (logs / "a.log").touch()
    reader.read()
    with subprocess.Popen([sys.executable, "-c", WRITER, str(logs / "a.log"), mode, "5000"]) as process:
        while process.poll() is None:
            reader.read(0.15)
            time.sleep(0.005)
    for _ in range(4):
        reader.read(20.0)
    assert sorted(reader.said()) == expected(0, 5000)
    reader.follower.close()


def test_flood_control_is_part_of_it_but_not_for_what_piled_up(logs, tmp_path):
    append(logs / "a.log", numbered(0, 3000))
    reader = Reader(tmp_path, history=1 << 30, flood=Flood(rate=100, burst=200))
    reader.read()
    assert reader.said() == expected(0, 3000)
    append(logs / "a.log", numbered(3000, 9000))
    reader.read(0.0)
    append(logs / "a.log", numbered(9000, 10_000))
    reader.read(0.0)
    reader.read(3.0)
    said = reader.said()
    assert said[:3200] == expected(0, 3200) and said[-1000:] == expected(9000, 10_000)
    assert reader.lines[-1][1] == 10_000 and reader.follower.flood.dropped == 10_000 - len(said)
    reader.follower.close()
