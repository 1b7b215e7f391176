"""Processes of this host by /proc: a process is a pid and its start time, because pids are given again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A line of /proc/PID/stat. `start`: clock ticks since boot; `state`: R, S, D, T, Z, ..."""

    pid: int
    start: int
    parent: int
    state: str

    @property
    def dead(self) -> bool:
        return self.state in "ZX"


def process(pid: int) -> Process | None:
    """None: there is no such process (any more)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return Process(pid, int(fields[19]), int(fields[1]), fields[0].decode("ascii"))
    except (OSError, IndexError, ValueError):
        return None


def processes() -> dict[int, Process]:
    """All that are there now."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (item := process(int(name))) is not None:
            found[item.pid] = item
    return found


def send(pid: int, start: int, number: int) -> bool:
    """Signals exactly this process. False: it is gone, or not ours to signal."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = process(pid)
        if found is None or found.start != start:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def command_of(pid: int) -> tuple[str, ...]:
    """The words of its command line, empty where it has none or may not be looked at."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read(1 << 20)
    except OSError:
        return ()
    return tuple(word.decode("utf-8", "surrogateescape") for word in data.rstrip(b"\0").split(b"\0")) if data else ()


def variable_of(pid: int, name: str) -> str | None:
    """A variable of the environment that it was started with; None: it has none, or may not be looked at."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = file.read(1 << 22)
    except OSError:
        return None
    start = f"{name}=".encode()
    return next(
        (pair[len(start) :].decode("utf-8", "surrogateescape") for pair in data.split(b"\0") if pair.startswith(start)), None
    )


def opened_by(pid: int) -> set[str]:
    """The paths of its open files, as far as they may be looked at."""
    found: set[str] = set()
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for name in names:
        try:
            found.add(str(Path(f"/proc/{pid}/fd/{name}").readlink()))
        except OSError:
            continue
    return found


def user_of(pid: int) -> int | None:
    """The user that it belongs to."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
