"""The compile caches of the host: locks, failed and empty entries, and a part of the good ones, as `ls -l` shows them."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile

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
    bad: list[str] = []
    good: list[str] = []
    count = 0
    for compiler in root.names(directory):
        if not compiler.startswith(("neuronxcc-", "neuroncc-", "USER_neuron")):
            continue
        for module in root.names(f"{directory}/{compiler}"):
            if not module.startswith("MODULE_"):
                continue
            count += 1
            if count > MAX_MODULES:
                break
            rows, is_bad = _module(root, f"{directory}/{compiler}/{module}")
            if is_bad:
                bad.extend(rows)
            elif len(good) < SHOWN_GOOD * 6:
                good.extend(rows)
    if bad or good:
        yield VirtualFile(f"host:{directory}", ("\n".join([f"$ find {directory} -ls", *bad, *good]) + "\n").encode())
    if count > MAX_MODULES:
        reason = f"only {MAX_MODULES} entries of the cache were looked at"
        yield SourceReport(f"host:{directory}", "compile-cache", "partial", reason)


def _module(root: HostRoot, entry: str) -> tuple[list[str], bool]:
    """Rows of one entry, and whether it is locked, failed or holds an empty NEFF."""
    rows = []
    names = root.names(entry)[:200]
    bad = any(name.endswith(".lock") for name in names) or ("model.log" in names and "model.neff" not in names)
    for name in names:
        state = root.stat(f"{entry}/{name}")
        if state is None:
            continue
        bad = bad or (name.endswith(".neff") and state.st_size == 0)
        stamp = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(state.st_mtime))
        mode = stat.filemode(state.st_mode)
        rows.append(f"{mode} 1 {state.st_uid} {state.st_gid} {state.st_size:>12} {stamp} {entry}/{name}")
    return rows, bad
