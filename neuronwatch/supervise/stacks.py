"""Where the processes of a hung run stand: py-spy's stacks of each Python of it, as a file beside its logs.

py-spy is looked for on PATH and beside our own interpreter; it reads another process's memory, so it may be refused (ptrace_scope,
another user). What it could not do is said in the file. It is never waited for long.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.supervise.tree import Process

MOST = 64
"""Processes of one dump; of more ranks the first ones."""
EACH, ALL = 5.0, 15.0
"""Seconds for one process, and for all of them."""
AT_ONCE = 4
SIZE = 256 * 1024
"""Bytes of one process's stacks that are kept."""
_PYTHON = re.compile(rb"python[0-9.]*")
_MOVES = re.compile(r"\(active(?:\+gil)?\)|\(idle\)|^Process \d+: .*$|^Python v.*$", re.MULTILINE)


class Stacks(NamedTuple):
    """One dump: the text, and each process's own part by pid."""

    text: str
    parts: dict[int, str]


def tool() -> str | None:
    """The py-spy of this machine."""
    beside = Path(sys.executable).with_name("py-spy")
    return shutil.which("py-spy") or (str(beside) if os.access(beside, os.X_OK) else None)


def command(program: str, pid: int) -> list[str]:
    """`--nonblocking`: the process is not stopped while it is read, which one that is stopped already would never come out of."""
    return [program, "dump", "--nonblocking", "--pid", str(pid)]


def pythons(members: Iterable[Process]) -> list[int]:
    """The Python processes among them, oldest first."""
    found = []
    for item in sorted(members, key=lambda item: item.start):
        try:
            with open(f"/proc/{item.pid}/cmdline", "rb") as file:
                first = os.path.basename(file.read(4096).split(b"\0", 1)[0])
        except OSError:
            continue
        if _PYTHON.fullmatch(first):
            found.append(item.pid)
    return found[:MOST]


def dump(members: Iterable[Process], program: str | None = None) -> Stacks:
    """Never raises; takes at most some seconds."""
    program = program or tool()
    if program is None:
        return Stacks("py-spy is not installed: no stacks (pip install py-spy)\n", {})
    end = time.monotonic() + ALL
    waiting, parts = pythons(members), dict[int, str]()
    while waiting and time.monotonic() < end:
        now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        parts.update(_some(program, now))
    text = "".join(part if part.endswith("\n") else part + "\n" for part in parts.values())
    if waiting:
        text += f"{len(waiting)} more processes: no time was left\n"
    return Stacks(text or "no Python process\n", parts)


def equal(one: Stacks, other: Stacks) -> bool | None:
    """Whether all processes stand where they stood; None: there is nothing to compare."""
    if not one.parts or one.parts.keys() != other.parts.keys():
        return None
    return all(_MOVES.sub("", part) == _MOVES.sub("", other.parts[pid]) for pid, part in one.parts.items())


def _some(program: str, pids: Sequence[int]) -> dict[int, str]:
    children = {}
    for pid in pids:
        try:
            children[pid] = subprocess.Popen(
                command(program, pid), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            return {pid: f"Process {pid}: {program}: {error.strerror}\n" for pid in pids}
    found = {}
    for pid, child in children.items():
        try:
            data = child.communicate(timeout=EACH)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            data = child.communicate()[0] + b"(py-spy did not come to an end)\n"
        text = data[:SIZE].decode("utf-8", "replace")
        found[pid] = text if text.startswith("Process ") else f"Process {pid}: {text}"
    return found
