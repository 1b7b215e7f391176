"""Which files a list of names, patterns and directories means now, below a root that no link leads out of."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from fnmatch import translate
from typing import NamedTuple

from neuronwatch.source.host.root import HostRoot

MOST = 1024
MOST_LOOKED_AT = 20_000


NOT_REGULAR, DENIED = "not a regular file", "permission denied"


class Expanded(NamedTuple):
    """`files`: names of the real files (links followed), each with the pattern that found it; `directories`: where a new file
    would appear; `refused`: what is there and is no regular file, or a directory that may not be read, with why; `left_out`: how
    many were more than MOST."""

    files: dict[str, str]
    directories: dict[str, None]
    refused: dict[str, str]
    left_out: int


def expand(root: HostRoot, patterns: Iterable[str]) -> Expanded:
    """A pattern is an absolute path; `*`, `?` and `[...]` are for one part of it; a directory means all files in it."""
    found = Expanded({}, {}, {}, 0)
    look = _Look(root)
    looked, left_out = 0, 0
    for pattern in patterns:
        names = [""]
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        for part in parts:
            if not any(sign in part for sign in "*?["):
                for name in names:
                    if look.place(f"{name}/{part}") is None:
                        found.directories[look.name(name) or "/"] = None
                names = [f"{name}/{part}" for name in names if look.place(f"{name}/{part}") is not None]
                continue
            matching = re.compile(translate(part)).match
            further = []
            for name in names:
                found.directories[look.name(name) or "/"] = None
                entries = root.names(name or "/")
                if not entries and root.exists(name) and root.why(name or "/") == DENIED:
                    found.refused[name] = DENIED
                for entry in entries:
                    looked += 1
                    if looked <= MOST_LOOKED_AT and matching(entry) and (part.startswith(".") or not entry.startswith(".")):
                        further.append(f"{name}/{entry}")
            names = further
        for name in names:
            left_out += _take(look, name, pattern, found)
    return found._replace(left_out=left_out + max(0, looked - MOST_LOOKED_AT))


class _Look:
    """One look at the host: a directory is resolved once, however many patterns lead through it (the outputs of 64 ranks)."""

    def __init__(self, root: HostRoot) -> None:
        self.root = root
        self._base = str(root.path).rstrip("/")
        self._known: dict[str, str | None] = {"": self._base}

    def place(self, name: str) -> str | None:
        """As `HostRoot.real`."""
        if name not in self._known:
            self._known[name] = self._looked_up(name)
        return self._known[name]

    def _looked_up(self, name: str) -> str | None:
        directory, _, last = name.rpartition("/")
        if last in ("", ".", ".."):
            return self.root.real(name)
        where = self.place(directory)
        if where is None:
            return None
        here = f"{where.rstrip('/')}/{last}"
        try:
            link = stat.S_ISLNK(os.lstat(here).st_mode)
        except (OSError, ValueError):
            return None
        return self.root.real(name) if link else here

    def name(self, name: str) -> str | None:
        """The name without links, as the host sees it; "" is the root."""
        place = self.place(name)
        return None if place is None else place[len(self._base) :].rstrip("/")

    def stat(self, name: str) -> os.stat_result | None:
        place = self.place(name)
        try:
            return None if place is None else os.stat(place or "/")  # noqa: PTH116 (hundreds in each look)
        except OSError:
            return None


def _take(look: _Look, name: str, pattern: str, found: Expanded) -> int:
    """Takes in one name, or the files of a directory; how many are left out."""
    real = look.name(name)
    status = look.stat(name)
    if real is None or status is None:
        return 0
    if stat.S_ISDIR(status.st_mode):
        if any(sign in pattern for sign in "*?["):
            return 0
        found.directories[real] = None
        names = (f"{real}/{entry}" for entry in look.root.names(real or "/") if not entry.startswith("."))
        return sum(_take_file(look, entry, pattern, found) for entry in names)
    return _take_file(look, name, pattern, found)


def _take_file(look: _Look, name: str, pattern: str, found: Expanded) -> int:
    real = look.name(name)
    status = look.stat(name)
    if real is None or status is None or stat.S_ISDIR(status.st_mode):
        return 0
    directory, _, _ = real.rpartition("/")
    found.directories[directory or "/"] = None
    if not stat.S_ISREG(status.st_mode):
        found.refused[real] = NOT_REGULAR
    elif real not in found.files:
        if len(found.files) >= MOST:
            return 1
        found.files[real] = pattern
    return 0
