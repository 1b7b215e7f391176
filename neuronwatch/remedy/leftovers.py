"""Processes that hold what a job needs, and whose they are. Only what this user's earlier jobs left behind may be ended."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.remedy.api import Holder, RemedyError
from neuronwatch.source import proc

MARK = "NEURONWATCH_RUN"
GRACE = 8.0
"""Seconds from SIGTERM to SIGKILL."""
_DEVICE = re.compile(r"/dev/neuron\d{1,3}")


def holders(jobs: Path, own_mark: str, wanted: re.Pattern[str] = _DEVICE, ports: tuple[int, ...] = ()) -> list[Holder]:
    """Who holds device files or listens on these ports. `jobs`: the directory of this state directory's jobs, `own_mark`: of the
    run that asks. What may not be looked at is not in the list."""
    sockets = _listening(ports)
    found = []
    for pid, item in proc.processes().items():
        if item.dead or pid == os.getpid():
            continue
        held = [name for name in proc.opened_by(pid) if wanted.fullmatch(name) or name in sockets]
        if held:
            words = " ".join(proc.command_of(pid))[:200]
            found.append(Holder(pid, item.start, words, sockets.get(held[0], held[0]), _ours(pid, jobs, own_mark)))
    return found


def _ours(pid: int, jobs: Path, own_mark: str) -> str:
    """Why this process may be ended, "" where nothing proves it."""
    mark = proc.variable_of(pid, MARK)
    if not mark or mark == own_mark or proc.user_of(pid) != os.geteuid():
        return ""
    run = next((run for run, known in _marks(jobs) if known == mark), None)
    if run is None:
        return ""
    return f"left by run {run.name} of job {run.parent.parent.name}, which is over" if not _lives(run) else ""


def _marks(jobs: Path) -> Iterator[tuple[Path, str]]:
    """Each run of our jobs with its mark."""
    for intent in sorted(jobs.glob("*/runs/[0-9]*/intent.json")):
        try:
            if intent.lstat().st_uid == os.geteuid():
                yield intent.parent, str(json.loads(intent.read_bytes()[: 1 << 22])["mark"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue


def _lives(run: Path) -> bool:
    """Whether the shim of a run still holds its lock."""
    try:
        descriptor = os.open(run / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def end(pid: int, start: int, jobs: Path, own_mark: str, grace: float = GRACE) -> str:
    """Ends one holder after proving again that it is ours: SIGTERM, grace, SIGKILL. What was done, in words. Raises RemedyError."""
    why = _ours(pid, jobs, own_mark)
    if not _there(pid, start):
        return f"process {pid} is gone already"
    if not why:
        raise RemedyError(f"process {pid} is not provably ours", "end it by hand, if it may be ended")
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        proc.send(pid, start, number)
        proc.send(pid, start, signal.SIGCONT)
        until = time.monotonic() + patience
        while _there(pid, start) and time.monotonic() < until:
            time.sleep(0.02)
        if not _there(pid, start):
            return f"ended process {pid} by {signal.Signals(number).name} ({why})"
    raise RemedyError(f"process {pid} cannot be ended", "it waits in the kernel; a reboot frees its cores")


def _there(pid: int, start: int) -> bool:
    found = proc.process(pid)
    return found is not None and found.start == start and not found.dead


def _listening(ports: tuple[int, ...]) -> dict[str, str]:
    """`socket:[inode]` of the listeners on these ports -> `port N`."""
    found = {}
    for name in ("tcp", "tcp6") if ports else ():
        try:
            lines = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if len(words) > 9 and words[3] == "0A" and int(words[1].rpartition(":")[2], 16) in ports:
                found[f"socket:[{words[9]}]"] = f"port {int(words[1].rpartition(':')[2], 16)}"
    return found


def free_ports(count: int = 2) -> tuple[int, ...]:
    """Ports that are free now on all addresses, with the next one free too (the root communicator takes it)."""
    found: list[int] = []
    for _ in range(50):
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("", 0))
                port = first.getsockname()[1]
                second.bind(("", port + 1))
                found.append(port)
            except (OSError, OverflowError):
                continue
        if len(found) >= count:
            break
    return tuple(found)
