"""The run that lives, as its owner knows it, and what the system says of its processes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model.job import Exit
from neuronwatch.supervise import launch
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.tree import Tree, process


class Current(NamedTuple):
    """The run that lives: the pid and start time of its command and its shim. `shim`: ours, None for one that was taken over."""

    run: Run
    command: tuple[int, int]
    parent: tuple[int, int]
    shim: launch.Shim | None
    begun: float

    @property
    def tree(self) -> Tree:
        return Tree((self.parent, self.command), self.run.mark())


def settled(run: Run) -> Current | None:
    """The run as its shim says; a shim that has just begun has a moment to say it."""
    for _ in range(100):
        found = run.started()
        if found is not None:
            return Current(run, (found.command.pid, found.command.start), (found.shim.pid, found.shim.start), None, found.time)
        if not run.held():
            return None
        time.sleep(0.02)
    return None


def to_nowhere(descriptor: int) -> bool:
    """Whether it is /dev/null: what is copied there costs the job time for nothing."""
    found = os.fstat(descriptor)
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def identity(pid: int) -> tuple[int, int]:
    found = process(pid)
    return (pid, found.start if found else 0)


def lives(item: tuple[int, int]) -> bool:
    found = process(item[0])
    return found is not None and found.start == item[1] and not found.dead


def exit_of(told: Mapping[str, Any]) -> Exit:
    return Exit(told.get("status"), told.get("signal"), float(told.get("time") or 0.0), str(told.get("reason") or ""))
