"""Where processes that hold Neuron devices write: the log files that their environment names, and their stdout and stderr."""

from __future__ import annotations

import glob
import re
import stat
from collections.abc import Iterable, Iterator

from neuronwatch.source.host.root import HostRoot

_NAMED = re.compile(rb"^NEURON_RT_LOG_(?:LOCATION|FILE)(?:_[A-Z]{1,8})?=(?:file:)?(/[^\0]{1,1000})$")
SETTLES = 3
"""A process is looked at so often: at first it may not be the program yet that it is going to be."""
MOST = 256


class ProcessLogs:
    """`patterns(pids)` gives the files of these processes, as patterns that mean just them."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._looked: dict[int, int] = {}
        self._found: dict[int, dict[str, None]] = {}

    def patterns(self, pids: Iterable[int]) -> list[str]:
        alive = sorted(pids)[:MOST]
        self._looked = {pid: self._looked.get(pid, 0) for pid in alive}
        self._found = {pid: self._found.get(pid, {}) for pid in alive}
        for pid in alive:
            if self._looked[pid] < SETTLES:
                self._looked[pid] += 1
                self._found[pid].update(dict.fromkeys(self._logs_of(pid)))
        return list(dict.fromkeys(glob.escape(name) for names in self._found.values() for name in names))

    def _logs_of(self, pid: int) -> Iterator[str]:
        owner = self._root.stat(f"/proc/{pid}")
        if owner is None:
            return
        environment = self._root.read(f"/proc/{pid}/environ", 1 << 20) or b""
        for pair in environment.split(b"\0"):
            named = _NAMED.match(pair)
            if named:
                name = named.group(1).decode("utf-8", "surrogateescape")
                status = self._root.stat(name)
                # A user's process must not make us read what is not its user's.
                if status is not None and stat.S_ISREG(status.st_mode) and owner.st_uid in (0, status.st_uid):
                    yield name
        for number in (1, 2):
            target = self._root.link(f"/proc/{pid}/fd/{number}") or ""
            if target.startswith("/") and not target.startswith(("/dev/", "/proc/")) and not target.endswith(" (deleted)"):
                yield target
