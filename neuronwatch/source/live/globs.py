"""Which files a list of names, patterns and directories means now, below a root that no link leads out of."""

from __future__ import annotations

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
    looked, left_out = 0, 0
    for pattern in patterns:
        names = [""]
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        for part in parts:
            if not any(sign in part for sign in "*?["):
                for name in names:
                    if not root.exists(f"{name}/{part}"):
                        found.directories[_real(root, name) or "/"] = None
                names = [f"{name}/{part}" for name in names if root.exists(f"{name}/{part}")]
                continue
            matching = re.compile(translate(part)).match
            further = []
            for name in names:
                found.directories[_real(root, name) or "/"] = None
                entries = root.names(name or "/")
                if not entries and root.exists(name) and root.why(name or "/") == DENIED:
                    found.refused[name] = DENIED
                for entry in entries:
                    looked += 1
                    if looked <= MOST_LOOKED_AT and matching(entry) and (part.startswith(".") or not entry.startswith(".")):
                        further.append(f"{name}/{entry}")
            names = further
        for name in names:
            left_out += _take(root, name, pattern, found)
    return found._replace(left_out=left_out + max(0, looked - MOST_LOOKED_AT))


def _take(root: HostRoot, name: str, pattern: str, found: Expanded) -> int:
    """Takes in one name, or the files of a directory; how many are left out."""
    real = _real(root, name)
    status = root.stat(name)
    if real is None or status is None:
        return 0
    if stat.S_ISDIR(status.st_mode):
        if any(sign in pattern for sign in "*?["):
            return 0
        found.directories[real] = None
        return sum(_take_file(root, f"{real}/{entry}", pattern, found) for entry in root.names(real) if not entry.startswith("."))
    return _take_file(root, real, pattern, found)


def _take_file(root: HostRoot, name: str, pattern: str, found: Expanded) -> int:
    real = _real(root, name)
    status = root.stat(name)
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


def _real(root: HostRoot, name: str) -> str | None:
    """The name without links, as the host sees it."""
    place = root.place(name or "/")
    if place is None:
        return None
    text = str(place.relative_to(root.path)) if str(root.path) != "/" else str(place)
    return "/" + text.lstrip("/") if text != "." else ""
