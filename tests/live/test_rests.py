"""A busy log is read in ever larger bundles with its watch muted, and nothing of it is lost meanwhile; a quiet one at once."""

from __future__ import annotations

import os
import select
import shutil
import time
from pathlib import Path

import pytest

from neuronwatch.model.live import Appended
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import rests as module
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.live.rests import CLOSE, LONGEST, Rests


def test_a_quiet_file_is_read_at_once_and_one_that_goes_on_rests_longer_and_longer():
    rests = Rests()
    now = 100.0
    assert rests.at_once("a", now) and not rests.was_read("a", True, now)
    assert rests.at_once("a", now + CLOSE) and not rests.was_read("a", True, now + CLOSE)
    now += 1.5 * CLOSE
    assert not rests.at_once("a", now) and rests.rests("a") and rests.at_once("b", now)
    pauses = []
    for _ in range(30):
        pauses.append(rests.due() - now)
        now = rests.due()
        assert rests.over(now) == ["a"] and not rests.over(now - 0.001)
        assert not rests.was_read("a", True, now) and not rests.at_once("a", now)
    assert pauses[1:] == sorted(pauses[1:]) and pauses[-1] == pytest.approx(LONGEST) and pauses[2] == pytest.approx(CLOSE)
    assert rests.was_read("a", False, rests.due()) and not rests.rests("a") and rests.due() == float("inf")
    assert rests.at_once("a", now + LONGEST + CLOSE)


def test_a_look_in_between_ends_no_rest():
    rests = Rests()
    rests.was_read("a", True, 0.0)
    assert not rests.at_once("a", 0.001)
    assert not rests.was_read("a", False, 0.002) and rests.over(CLOSE) == ["a"]
    rests.forget("a")
    assert rests.due() == float("inf")


def numbered(low: int, high: int) -> bytes:
    return b"".join(b"line %06d of a log that has some more words in it\n" % n for n in range(low, high))


class Busy:
    """A follower with a clock of its own, and a file of it that rests."""

    def __init__(self, root: Path) -> None:
        self.log = root / "var/log/a.log"
        self.log.parent.mkdir(parents=True)
        self.log.touch()
        self.now, self.number = 0.0, 0
        self.follower = Follower(HostRoot(root), ["/var/log/*.log"])
        self.found: list[Appended] = []
        self.read(1.0)
        for _ in range(8):
            self.write()
            self.read(CLOSE / 2)
        assert self.follower.rest_over() < float("inf")

    def write(self, count: int = 3) -> None:
        with self.log.open("ab") as handle:
            handle.write(numbered(self.number, self.number + count))
        self.number += count

    def read(self, passed: float) -> list[Appended]:
        self.now += passed
        found = self.follower.read(self.now, time.time())
        self.found += found
        return found

    def wakes(self) -> bool:
        assert self.follower.descriptor is not None
        return bool(select.select([self.follower.descriptor], [], [], 0)[0])

    def text(self) -> bytes:
        return b"".join(item.data for item in self.found)


@pytest.fixture
def busy(tmp_path):
    found = Busy(tmp_path)
    yield found
    found.follower.close()


def test_a_busy_file_wakes_nobody_and_a_quiet_one_beside_it_does(busy):
    busy.write()
    busy.read(LONGEST)
    busy.write()
    assert not busy.wakes() and not busy.read(0.001)
    other = busy.log.with_name("b.log")
    other.write_bytes(b"one\n")
    for _ in range(4):  # it is found
        busy.write()
        busy.read(LONGEST)
    busy.write()
    assert not busy.wakes()
    with other.open("ab") as handle:
        handle.write(b"two\n")
    assert busy.wakes()
    assert [item.data for item in busy.read(0.0)] == [b"two\n"]


def test_a_file_that_calms_down_is_watched_again(busy):
    for _ in range(9):
        busy.read(LONGEST)
    assert busy.follower.rest_over() == float("inf") and not busy.wakes()
    busy.write()
    assert busy.wakes() and busy.read(0.0)
    assert busy.text() == numbered(0, busy.number)


def test_what_comes_between_the_last_read_of_a_rest_and_the_new_watch_is_read(busy, monkeypatch):
    busy.read(LONGEST)
    plain = busy.follower._watch

    def late(log):
        if not busy.follower._rests.rests(log.name):
            busy.write()
        plain(log)

    monkeypatch.setattr(busy.follower, "_watch", late)
    busy.read(LONGEST)
    monkeypatch.undo()
    assert busy.text() == numbered(0, busy.number) and busy.follower.rest_over() == float("inf")


@pytest.mark.parametrize("rotation", ["rename", "late", "copytruncate", "delete"])
def test_a_file_that_is_rotated_while_it_rests_loses_nothing(busy, rotation):
    for turn in range(6):
        busy.write()
        place = f"{busy.log}.{turn}"
        if rotation == "copytruncate":
            shutil.copyfile(busy.log, place)
            os.truncate(busy.log, 0)
        elif rotation == "delete":
            busy.read(0.0)
            with busy.log.open("ab") as old:
                busy.log.unlink()
                old.write(numbered(busy.number, busy.number + 2))
                busy.number += 2
        elif rotation == "rename":
            busy.log.rename(place)
        else:
            with busy.log.open("ab") as old:
                busy.log.rename(place)
                busy.log.touch()
                busy.read(0.001)
                old.write(numbered(busy.number, busy.number + 2))
            busy.number += 2
        busy.read(0.001)
        busy.write()
        for _ in range(12):
            busy.read(CLOSE / 2)
            busy.write(1)
    for _ in range(9):
        busy.read(LONGEST)
    assert sorted(busy.text().splitlines()) == numbered(0, busy.number).splitlines()


def test_a_file_is_watched_as_a_file_also_where_a_pattern_would_have_it_for_a_directory(tmp_path):
    """`/var/log/jobs/*/*.log` beside `/var/log/jobs/*`: inotify has one watch for a file, the last one asked for."""
    logs = tmp_path / "var/log/jobs"
    logs.mkdir(parents=True)
    (logs / "a.log").touch()
    follower = Follower(HostRoot(tmp_path), ["/var/log/jobs/*", "/var/log/jobs/*/*.log"])
    for now in (1.0, 20.0, 40.0):
        follower.read(now, time.time())
    with (logs / "a.log").open("ab") as handle:
        handle.write(b"one\n")
    assert follower.descriptor is not None and select.select([follower.descriptor], [], [], 5)[0]
    assert [item.data for item in follower.read(40.0, time.time())] == [b"one\n"]
    follower.close()


def test_a_text_without_ends_of_lines_rests_too(busy):
    """A progress bar: its pieces are no lines, and it wakes nobody a thousand times a second."""
    for _ in range(20):
        with busy.log.open("ab") as handle:
            handle.write(b"\r 17 %")
        busy.read(CLOSE / 2)
    assert busy.follower.rest_over() < float("inf")
    with busy.log.open("ab") as handle:
        handle.write(b"\r 18 %")
    assert not busy.wakes()


def test_rests_stay_far_below_the_time_to_a_finding():
    assert max(seconds for _, seconds in module.RESTS) <= LONGEST <= 0.05
