"""Which processes belong to a run, and how all of them are ended. A process is a pid and its start time: pids are given again."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from neuronwatch.source.proc import Process, process, processes, send

__all__ = ["LOOKS", "MARK", "Process", "Tree", "below", "boot_id", "marked", "process", "processes", "send"]

MARK = "NEURONWATCH_RUN"
"""The environment variable that every process of a run inherits."""
LOOKS = 2
"""So many looks in a row must find nobody."""
ROUND = 0.05


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def below(roots: Iterable[int], everybody: Mapping[int, Process]) -> list[Process]:
    """The descendants of `roots`, without them, parents before children."""
    children: dict[int, list[Process]] = {}
    for item in everybody.values():
        children.setdefault(item.parent, []).append(item)
    found, queue = [], [child for root in roots for child in children.get(root, ())]
    while queue:
        item = queue.pop(0)
        found.append(item)
        queue += children.get(item.pid, ())
    return found


def marked(mark: str, everybody: Mapping[int, Process]) -> list[Process]:
    """Processes with this mark in their environment, of those that we may look at."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for item in everybody.values():
        with contextlib.suppress(OSError), open(f"/proc/{item.pid}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(item)
    return found


class Tree:
    """The processes of one run. `roots`: its shim and its command, as pid and start time."""

    def __init__(self, roots: Sequence[tuple[int, int]], mark: str) -> None:
        self._roots = roots
        self._mark = mark

    def members(self) -> list[Process]:
        """All that live (no zombies), without the shim: by descent from shim and command, and by their mark."""
        everybody = processes()
        roots = [everybody[pid] for pid, start in self._roots if pid in everybody and everybody[pid].start == start]
        shim = self._roots[0][0] if self._roots else 0
        found = {item.pid: item for item in (*roots, *below([item.pid for item in roots], everybody)) if item.pid != shim}
        if self._mark:
            found.update((item.pid, item) for item in marked(self._mark, everybody) if item.pid != shim)
            found.update((item.pid, item) for item in below(list(found), everybody))
        return [item for item in found.values() if not item.dead]

    def end(self, grace: float, first: int = signal.SIGTERM) -> bool:
        """Signals all, waits, kills what is left. True when nobody is left; False only for what cannot be killed (a process in
        the kernel, another user's). `grace`: seconds for the signal `first`; 0: none is sent."""
        members = self.members()
        if grace > 0 and members:
            self._signal(members, first)
            self._signal([item for item in members if item.state in "Tt"], signal.SIGCONT)
            end = time.monotonic() + grace
            while time.monotonic() < end and (members := self.members()):
                time.sleep(ROUND)
        empty, deadline = 0, time.monotonic() + 10.0
        while empty < LOOKS and time.monotonic() < deadline:
            members = self.members()
            empty = 0 if members else empty + 1
            self._kill_groups(members)
            self._signal(members, signal.SIGKILL)
            time.sleep(ROUND / 10 if not members else ROUND / 2)
        return empty >= LOOKS

    def _kill_groups(self, members: Iterable[Process]) -> None:
        """Kills the process groups of the run. Of processes that fork and end all the time each look finds only those of a moment
        ago; the kernel kills all of a group at once. A group counts when one of it carries the mark of the run just now."""
        groups = {pid for pid, _ in self._roots[1:]}
        for item in members:
            with contextlib.suppress(OSError):
                groups.add(os.getpgid(item.pid))
        groups -= {0, os.getpgrp()}
        wanted = f"{MARK}={self._mark}".encode()
        for name in os.listdir("/proc") if self._mark else ():
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError):
                group = os.getpgid(int(name))
                if group in groups:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if wanted in file.read().split(b"\0"):
                            groups.discard(group)
                            os.killpg(group, signal.SIGKILL)

    @staticmethod
    def _signal(members: Iterable[Process], number: int) -> None:
        for item in members:
            send(item.pid, item.start, number)
