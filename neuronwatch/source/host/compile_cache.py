"""The compile caches of the host: locks, failed and empty entries, and a part of the good ones, as `ls -l` shows them."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile
from neuronwatch.source.tree import shown

DEFAULT = "/var/tmp/neuron-compile-cache"
MAX_MODULES = 20_000
SHOWN_GOOD = 50
"""Good entries that are listed; all others are only looked at."""
_CACHE_DIR = re.compile(r"--cache_dir[= ]\s*['\"]?(/[^\s'\"]{1,400})")


def collect(root: HostRoot) -> Iterator[HostItem]:
    for directory in directories(root):
        if root.is_dir(directory):
            yield from told(directory, listed(root, directory))


def directories(root: HostRoot) -> list[str]:
    """The default, and what our own environment names (on the live host)."""
    found = [DEFAULT]
    if root.live:
        url = os.environ.get("NEURON_COMPILE_CACHE_URL", "")
        flag = _CACHE_DIR.search(os.environ.get("NEURON_CC_FLAGS", ""))
        found += [item for item in (url, flag.group(1) if flag else "") if item.startswith("/")]
    return list(dict.fromkeys(item.rstrip("/") for item in found))


def listed(root: HostRoot, directory: str, known: Known | None = None) -> Listing:
    """The entries of a cache. `known`: what an earlier look found, which is brought up to date."""
    listing = Listing(root, known)
    for compiler in root.names(directory):
        if compiler.startswith(("neuronxcc-", "neuroncc-", "USER_neuron")):
            listing.add(f"{directory}/{compiler}", f"{directory}/{compiler}")
    return listing


def told(directory: str, listing: Listing) -> Iterator[HostItem]:
    if listing.data(directory):
        yield VirtualFile(f"host:{directory}", listing.data(directory))
    if listing.full or listing.odd:
        yield SourceReport(f"host:{directory}", "compile-cache", "partial", listing.full or listing.odd)


State = Literal["good", "locked", "failed", "empty"]


class Entry(NamedTuple):
    """One entry: rows of the listing (its directory, then its files), what it is, bytes, the time of its lock, and a file of it
    that is none (a pipe): nobody can say what the entry is then."""

    rows: list[str]
    state: State
    size: int
    locked: float | None
    odd: str = ""


Known = dict[str, tuple[int, int]]
"""Entry -> modification time (ns) and size, of the good ones that need not be looked into again while they are as they were."""


class Listing:
    """Entries of a cache as `find -ls` shows them, the bad ones first: of the host's cache, and of one among evidence."""

    def __init__(self, root: HostRoot, known: Known | None = None) -> None:
        self._root = root
        self._known = known
        self._bad: list[str] = []
        self._good: list[str] = []
        self._count = 0
        self.states: dict[State, int] = {"good": 0, "locked": 0, "failed": 0, "empty": 0}
        self.size = 0
        self.odd = ""
        """What is wrong with entries that cannot be judged, else ""."""
        self._odd = 0
        self.oldest_lock: float | None = None
        """Modification time of the oldest lock, seconds since the epoch."""

    @property
    def full(self) -> str:
        """Why entries are missing, else ""."""
        return f"only {MAX_MODULES} entries of the cache were looked at" if self._count > MAX_MODULES else ""

    def add(self, directory: str, label: str) -> None:
        """The entries of one compiler's directory, which rows show as `label`."""
        where = str(self._root.place(directory)) if self._known is not None else ""
        for module in self._root.names(directory):
            if (
                module.startswith("MODULE_")
                and self._count <= MAX_MODULES
                and not self._unchanged(f"{where}/{module}", directory, module)
            ):
                self.add_entry(f"{directory}/{module}", f"{label}/{module}")

    def _unchanged(self, where: str, directory: str, module: str) -> bool:
        """Whether an entry is known to be good, would not be shown anyway, and is as it was."""
        if self._known is None or not self._enough:
            return False
        known = self._known.get(f"{directory}/{module}")
        if known is None or _changed(where) != known[0]:
            return False
        self._count += 1
        self.states["good"] += 1
        self.size += known[1]
        return True

    @property
    def _enough(self) -> bool:
        return len(self._good) >= SHOWN_GOOD * 6

    def add_entry(self, entry: str, label: str) -> None:
        self._count += 1
        if self._count > MAX_MODULES:
            return
        found = _module(self._root, entry, label)
        if found.odd:
            self._odd += 1
            self.odd = f"{self._odd} entries of the cache cannot be read: {shown(found.odd)} is no regular file"
            return
        self.states[found.state] += 1
        self.size += found.size
        if found.locked is not None:
            self.oldest_lock = min(found.locked, self.oldest_lock or found.locked)
        if found.state != "good":
            self._bad.extend(found.rows)
        elif not self._enough:
            self._good.extend(found.rows)
        if self._known is not None:
            if found.state == "good":
                self._known[entry] = (_changed(str(self._root.place(entry))), found.size)
            else:
                self._known.pop(entry, None)

    def data(self, label: str) -> bytes:
        """The listing, empty when there is no entry."""
        rows = [*self._bad, *self._good]
        return ("\n".join([f"$ find {shown(label)} -ls", *rows]) + "\n").encode() if rows else b""


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return -1


def _module(root: HostRoot, entry: str, label: str) -> Entry:
    names = root.names(entry)[:200]
    rows = [_row(label, root.stat(entry))]
    empty, size = False, 0
    locks: list[float] = []
    for name in names:
        state = root.stat(f"{entry}/{name}")
        if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
            return Entry([], "good", 0, None, f"{label}/{name}")
        if state is not None:
            size += state.st_size
            empty = empty or (name.endswith(".neff") and state.st_size == 0 and stat.S_ISREG(state.st_mode))
            if name.endswith(".lock"):
                locks.append(state.st_mtime)
        rows.append(_row(f"{label}/{name}", state))
    failed = "model.log" in names and "model.neff" not in names
    kind: State = (
        "locked" if any(name.endswith(".lock") for name in names) else "failed" if failed else "empty" if empty else "good"
    )
    return Entry([row for row in rows if row], kind, size, min(locks, default=None))


def _row(label: str, state: os.stat_result | None) -> str:
    if state is None:
        return ""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(state.st_mtime))
    return f"{stat.filemode(state.st_mode)} 1 {state.st_uid} {state.st_gid} {state.st_size:>12} {stamp} {shown(label)}"
