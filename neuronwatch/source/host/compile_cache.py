"""The compile caches of the host: locks, failed and empty entries, and a part of the good ones, as `ls -l` shows them."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Iterator

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
    for directory in _directories(root):
        if root.is_dir(directory):
            yield from _cache(root, directory)


def _directories(root: HostRoot) -> list[str]:
    """The default, and what our own environment names (on the live host)."""
    import os

    found = [DEFAULT]
    if root.live:
        url = os.environ.get("NEURON_COMPILE_CACHE_URL", "")
        flag = _CACHE_DIR.search(os.environ.get("NEURON_CC_FLAGS", ""))
        found += [item for item in (url, flag.group(1) if flag else "") if item.startswith("/")]
    return list(dict.fromkeys(item.rstrip("/") for item in found))


def _cache(root: HostRoot, directory: str) -> Iterator[HostItem]:
    listing = Listing(root)
    for compiler in root.names(directory):
        if compiler.startswith(("neuronxcc-", "neuroncc-", "USER_neuron")):
            listing.add(f"{directory}/{compiler}", f"{directory}/{compiler}")
    if listing.data(directory):
        yield VirtualFile(f"host:{directory}", listing.data(directory))
    if listing.full:
        yield SourceReport(f"host:{directory}", "compile-cache", "partial", listing.full)


class Listing:
    """Entries of a cache as `find -ls` shows them, the bad ones first: of the host's cache, and of one among evidence."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._bad: list[str] = []
        self._good: list[str] = []
        self._count = 0

    @property
    def full(self) -> str:
        """Why entries are missing, else ""."""
        return f"only {MAX_MODULES} entries of the cache were looked at" if self._count > MAX_MODULES else ""

    def add(self, directory: str, label: str) -> None:
        """The entries of one compiler's directory, which rows show as `label`."""
        for module in self._root.names(directory):
            if module.startswith("MODULE_") and self._count <= MAX_MODULES:
                self.add_entry(f"{directory}/{module}", f"{label}/{module}")

    def add_entry(self, entry: str, label: str) -> None:
        self._count += 1
        if self._count > MAX_MODULES:
            return
        rows, is_bad = _module(self._root, entry, label)
        if is_bad:
            self._bad.extend(rows)
        elif len(self._good) < SHOWN_GOOD * 6:
            self._good.extend(rows)

    def data(self, label: str) -> bytes:
        """The listing, empty when there is no entry."""
        rows = [*self._bad, *self._good]
        return ("\n".join([f"$ find {shown(label)} -ls", *rows]) + "\n").encode() if rows else b""


def _module(root: HostRoot, entry: str, label: str) -> tuple[list[str], bool]:
    """Rows of one entry (its directory, then its files), and whether it is locked, failed or holds an empty NEFF."""
    names = root.names(entry)[:200]
    bad = any(name.endswith(".lock") for name in names) or ("model.log" in names and "model.neff" not in names)
    rows = [_row(root, entry, label)]
    for name in names:
        state = root.stat(f"{entry}/{name}")
        bad = bad or (name.endswith(".neff") and state is not None and state.st_size == 0)
        rows.append(_row(root, f"{entry}/{name}", f"{label}/{name}"))
    return [row for row in rows if row], bad


def _row(root: HostRoot, path: str, label: str) -> str:
    state = root.stat(path)
    if state is None:
        return ""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(state.st_mtime))
    return f"{stat.filemode(state.st_mode)} 1 {state.st_uid} {state.st_gid} {state.st_size:>12} {stamp} {shown(label)}"
