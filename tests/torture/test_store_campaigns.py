"""Long campaigns on what the daemon keeps on disk: killed, filled up, damaged. Run by `make torture`; seconds and seed as in
test_campaigns.py."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "store"))

from store_support import T0, fill
from test_capture import log
from test_capture_cases import NAMES, check
from test_history_faults import FLUSH_SECONDS, checked, expected, killed_once, present
from test_journal import incident

from neuronwatch.store import history_file
from neuronwatch.store.capture import Recorder
from neuronwatch.store.errors import StoreError
from neuronwatch.store.history import History, Limits
from neuronwatch.store.journal import Journal
from neuronwatch.store.recording import Recording

pytestmark = pytest.mark.torture
SECONDS = float(os.environ.get("NEURONWATCH_FUZZ_SECONDS", "60"))
SEED = os.environ.get("NEURONWATCH_FUZZ_SEED", "1")


def rounds(name: str) -> Iterator[random.Random]:
    """A source of chance per round, as long as the time lasts."""
    until, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        yield random.Random(f"{name} {SEED} {number}")
        number += 1
    print(f"{name}: {number} rounds")


def test_killed_again_and_again(tmp_path: Path) -> None:
    start = T0
    for chance in rounds("kill"):
        last = killed_once(tmp_path, start, chance)
        found = present(tmp_path, start, last + 2)
        assert [second for second in range(int(last - FLUSH_SECONDS)) if second not in found] == []
        assert all(value == pytest.approx(expected(start, second)) for second, value in found.items())
        start += (last + 400) // 300 * 300 + 300
    assert list(tmp_path.glob("*.damaged-*")) == []


def test_damaged_again_and_again(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    history = History.open(first, T0, threaded=False)
    fill(history, T0, 700)
    history.close()
    good = (first / history_file.FILE).read_bytes()
    for number, chance in enumerate(rounds("damage")):
        directory = tmp_path / str(number)
        directory.mkdir()
        content = bytearray(good)
        if chance.random() < 0.3:
            del content[chance.randrange(len(content)) :]
        for _ in range(chance.choice((1, 1, 3, 30, 300))):
            if content:
                content[chance.randrange(len(content))] = chance.randrange(256)
        (directory / history_file.FILE).write_bytes(content)
        try:
            checked(directory)
        except StoreError as error:
            assert "newer neuronwatch" in str(error) or "cannot be read" in str(error), number
        for path in directory.iterdir():
            path.unlink()


def test_a_disk_that_fills_and_empties(tmp_path: Path) -> None:
    """History, journal and recording on 16 MiB that another program fills and frees."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "none", disk], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no file system can be mounted")
    try:
        history = History.open(disk, T0, Limits(reserve=0, size=2_000_000), threaded=False)
        journal = Journal.open(disk, T0, threaded=False)
        recorder, recording = Recorder(disk / "recording", T0, threaded=False), 0
        hog, now, states = disk / "hog", T0, set()
        for chance in rounds("disk"):
            hog.write_bytes(b"")
            try:
                with hog.open("wb", buffering=0) as file:
                    for _ in range(chance.choice((0, 100, 10_000))):
                        file.write(bytes(4096))
            except OSError:
                pass
            for _ in range(chance.randrange(1, 5)):
                now = fill(history, now + 1, chance.randrange(5, 200))
                journal.save([incident(f"{now:.0f}")], now)
                recorder.add(log(int(now - T0), chance.randbytes(1000).hex().encode() + b"\n"))
            states.add(history.health().state)
            if recorder.health().size > 2_000_000:
                recorder.close()
                recording += 1
                subprocess.run(["rm", "-rf", disk / "recording"], check=True)
                recorder = Recorder(disk / "recording", now, threaded=False)
        hog.unlink()
        fill(history, now + 1, 400)
        journal.tick(now)
        recorder.add(log(int(now - T0) + 20, b"the end\n"))
        assert history.health().state == journal.health().state == recorder.health().state == "ok" and states >= {"ok", "full"}
        assert history.health().aside == journal.health().aside == () and history.health().waiting < 12
        history.close()
        journal.close()
        recorder.close()
        assert len(present(disk, now + 1, 400)) == 400
        assert [item.appended[0].data for item in Recording(disk / "recording").play()][-1] == b"the end\n"
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_recording_of_each_case_is_judged_as_the_case(tmp_path: Path) -> None:
    for name in NAMES:
        check(name, tmp_path / name, f"{name} {SEED}")
