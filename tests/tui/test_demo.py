"""The demonstration: a fault is seen, and nothing of it is left whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tui.screen_support import Screen, until, with_word

from neuronwatch.cli.demo import STORY
from neuronwatch.drill.faults import all_faults


def test_the_story_is_of_faults_that_can_be_played() -> None:
    known = all_faults()
    injected: set[str] = set()
    for step in STORY:
        assert len(step.caption) <= 78
        assert not step.do or step.fault in known
        if step.do == "clear":
            assert step.fault in injected
        elif step.do == "inject":
            injected.add(step.fault)
    assert sum(step.stay for step in STORY) < 110


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_demonstration_shows_a_fault_and_leaves_nothing() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place, Screen("--demo", tmp=Path(place)) as screen:
        screen.until("demo 1/")
        (room,) = Path(place).glob("neuronwatch-top-*")
        screen.until("hw.uncorrectable-memory")
        assert len(with_word(str(room))) >= 2
        screen.process.send_signal(signal.SIGKILL)
        screen.process.wait()
        until(lambda: not with_word(str(room)) and not room.exists(), "the end of all that the demonstration started")


def test_a_demonstration_takes_no_other_host(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "neuronwatch", "top", "--demo", "--host-root", str(tmp_path), "--once"],
        capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert answer.returncode == 64 and "--demo" in answer.stderr and not list(tmp_path.iterdir())
