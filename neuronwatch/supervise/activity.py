"""What the processes of a job do, from /proc: processor time, I/O, compilers, stopped ones. Cheap enough for each few seconds."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.supervise.tree import Process

COMPILER = re.compile(rb"neuronx-cc|neuron-cc|walrus_driver|hlo2penguin|hlo-opt|tensorizer|neuronxcc")
TICK = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
LEAST_CPU = 0.02
"""Processor seconds a second of all processes below which nothing is done: threads that wake up to look cost less."""
LEAST_IO = 64 * 1024
"""Bytes between two looks; a heartbeat writes less."""


class Seen(NamedTuple):
    """Of all processes together: seconds of processor time, bytes read and written (also from the page cache), compilers that live,
    pids that are stopped or traced. `hidden`: some could not be looked at."""

    cpu: float
    bytes: int
    compilers: int
    stopped: tuple[int, ...]
    resident: int
    hidden: bool = False


def look(members: Iterable[Process]) -> Seen:
    """Never raises: a process may end while it is looked at."""
    cpu, moved, compilers, stopped, resident, hidden = 0.0, 0, 0, [], 0, False
    for item in members:
        if item.state in "Tt":
            stopped.append(item.pid)
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{item.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            cpu += (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) * TICK
            resident += int(fields[21]) * 4096
        try:
            with open(f"/proc/{item.pid}/io", "rb") as file:
                moved += sum(int(line.split()[1]) for line in file if line.startswith((b"rchar", b"wchar")))
        except FileNotFoundError:
            pass
        except (OSError, ValueError):
            hidden = True
        with contextlib.suppress(OSError), open(f"/proc/{item.pid}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")
            compilers += item.state not in "TtZX" and any(COMPILER.search(os.path.basename(word)) for word in words[:3])
    return Seen(cpu, moved, compilers, tuple(stopped), resident, hidden)


def worked(before: Seen, now: Seen, seconds: float) -> bool | None:
    """Whether anything was done between two looks; None: it cannot be seen. A process that ended takes its share with it: less than
    before is something."""
    if now.cpu < before.cpu or now.cpu - before.cpu > LEAST_CPU * seconds:
        return True
    if now.bytes < before.bytes or now.bytes - before.bytes > LEAST_IO:
        return True
    return None if now.hidden else False
