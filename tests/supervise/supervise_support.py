"""Jobs for tests: real owners in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from neuronwatch.supervise import tree
from neuronwatch.supervise.directory import JobDirectory

SECONDS = 20.0


def owner(state: Path, *words: str, name: str = "t", options: tuple[str, ...] = (), **more: object) -> subprocess.Popen[str]:
    command = ["--", *words] if words else []
    return subprocess.Popen(
        [sys.executable, "-m", "neuronwatch", "run", "--name", name, "--state-dir", str(state), *options, *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,  # type: ignore[call-overload]  # options of Popen
    )  # fmt: skip


def until(look: Callable[[], object], what: str = "it") -> None:
    end = time.monotonic() + SECONDS
    while not look():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.02)


def started(state: Path, run: int = 1, name: str = "t") -> int:
    """The pid of the command of that run, once it is there."""
    directory = JobDirectory(state, name)
    until(lambda: len(directory.runs()) >= run and directory.runs()[run - 1].started() is not None, "the command")
    found = directory.runs()[run - 1].started()
    assert found is not None
    return found.command.pid


def left(state: Path, name: str = "t") -> list[tree.Process]:
    """Processes of any run of the job."""
    everybody = tree.processes()
    return [item for run in JobDirectory(state, name).runs() for item in tree.marked(run.mark() or "-", everybody) if not item.dead]
