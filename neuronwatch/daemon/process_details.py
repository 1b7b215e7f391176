"""What /proc tells of single processes for people: whose they are, which cores they asked for, where they write. Looked at once
for each program, since none of it changes but stdout, which is set before the program begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.source.host.root import HostRoot

MOST_AT_ONCE = 64
"""Processes that one call looks at: the others are told of with the next call."""
MOST_FILES = 2048
MAX_CORES = 1024
MAX_ENVIRON = 256 * 1024
_UID = re.compile(r"^Uid:\s+(\d{1,10})\b", re.M)
_WANTED = re.compile(rb"(?:^|\0)(NEURON_RT_VISIBLE_CORES|NEURON_RT_NUM_CORES|NEURON_PROCESS_TAG)=([^\0]{0,4096})")


class Detail(NamedTuple):
    """`cores`: numbers on the host, as NEURON_RT_VISIBLE_CORES names them, None: it names none; `asked`: how many it asked for.
    `outputs`: the files that are its stdout and stderr, as `/path`."""

    owner: str | None
    cores: tuple[int, ...] | None
    asked: int | None
    tag: str | None
    outputs: tuple[str, ...]


class Details:
    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._known: dict[int, tuple[str | None, Detail]] = {}
        self._names: dict[int, str] = {}
        self.beside: dict[str, set[str]] = {}
        """File that a process was seen to write to, to all files that its writers wrote to: a run's log and its runtime's logs."""
        self.complete = False
        """Whether all processes have been looked at."""

    def look(self, commands: Iterable[tuple[int, str | None]]) -> dict[int, Detail]:
        """Of the processes with these commands; those that are not among them are forgotten."""
        known, self._known = self._known, {}
        looked = 0
        for pid, command in commands:
            found = known.get(pid)
            if found is None or found[0] != command:
                looked += 1
                if looked > MOST_AT_ONCE:
                    continue
                found = (command, self._read(pid))
            self._known[pid] = found
        self.complete = looked <= MOST_AT_ONCE
        result = self.known()
        for detail in result.values():
            for name in detail.outputs:
                self.beside.setdefault(name, set()).update(detail.outputs)
        while len(self.beside) > MOST_FILES:
            del self.beside[next(iter(self.beside))]
        return result

    def known(self) -> dict[int, Detail]:
        return {pid: detail for pid, (_, detail) in self._known.items()}

    def _read(self, pid: int) -> Detail:
        status = self._root.text(f"/proc/{pid}/status", 8192) or ""
        uid = _UID.search(status)
        raw = self._root.read(f"/proc/{pid}/environ", MAX_ENVIRON) or b""
        values = {name.decode(): value.decode("utf-8", "replace") for name, value in _WANTED.findall(raw)}
        cores = numbers(values.get("NEURON_RT_VISIBLE_CORES", ""))
        wanted = values.get("NEURON_RT_NUM_CORES", "").strip()
        count = (
            len(cores)
            if cores is not None
            else int(wanted)
            if wanted.isascii() and wanted.isdecimal() and len(wanted) < 5
            else None
        )
        targets = [self._root.link(f"/proc/{pid}/fd/{number}") or "" for number in (1, 2)]
        outputs = tuple(
            dict.fromkeys(name for name in targets if name.startswith("/") and not name.startswith(("/dev/", "/proc/")))
        )
        return Detail(
            self._owner(int(uid.group(1))) if uid else None,
            cores,
            count,
            values.get("NEURON_PROCESS_TAG", "")[:80] or None,
            outputs,
        )

    def _owner(self, uid: int) -> str:
        """The user's name, else the number."""
        if uid not in self._names:
            self._names[uid] = "root" if uid == 0 else str(uid)
            for line in (self._root.text("/etc/passwd", 1024 * 1024) or "").splitlines():
                fields = line.split(":")
                if len(fields) > 3 and fields[2] == str(uid):
                    self._names[uid] = fields[0][:40]
                    break
        return self._names[uid]


def numbers(text: str) -> tuple[int, ...] | None:
    """`0-3,8` as numbers. None: it is empty, or no such list."""
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,5})(?:\s*-\s*(\d{1,5}))?\s*", part)
        if not ends:
            return None
        first, last = int(ends.group(1)), int(ends.group(2) or ends.group(1))
        if last < first or len(found) + last - first >= MAX_CORES:
            return None
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))
