"""Looks up on the host what the remedies of the faults at hand need to know, and no more: the cache, locks, holders, ports."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from neuronwatch.dialect import rewrite
from neuronwatch.model.job import JobSpec
from neuronwatch.model.records import Value
from neuronwatch.remedy import cache, leftovers, locks
from neuronwatch.remedy.actions import cache_directory, end_leftover, port, quarantine_entry, stale_lock, visible_cores
from neuronwatch.remedy.api import Survey

ROOM = 10 * 1024**3
"""Bytes that a new place for the cache has free at least."""


def survey(
    spec: JobSpec,
    faults: Collection[str],
    environ: Mapping[str, str],
    facts: Mapping[str, Value],
    jobs: Path,
    mark: str,
    now: float,
) -> Survey:
    """`environ`: what the owner gives to the job, `jobs`: the directory of the jobs, `mark`: of the newest run. Raises nothing."""
    wanted = set(faults)
    variables = {name: text for name in ("NEURON_CC_FLAGS", "NEURON_COMPILE_CACHE_URL")
                 if (text := rewrite.read_variable(spec, name, environ)) is not None}  # fmt: skip
    root = cache.root_of(variables)
    place = Path(spec.cwd, root) if "://" not in root else None
    compiler = facts.get("compiler.version")
    values: dict[str, Any] = {"cache_root": str(place) if place else root, "jobs": str(jobs), "mark": mark}
    if place is not None and wanted & set(quarantine_entry.FAULTS):
        values["cache"] = tuple(cache.bad_entries(place, now, compiler if isinstance(compiler, str) else ""))
    if place is not None and wanted & set(stale_lock.FAULTS):
        values["locks"] = tuple(locks.locks(place, now))
    if wanted & {*end_leftover.FAULTS, *visible_cores.FAULTS}:
        said = rewrite.number(rewrite.read(spec, "port"))
        values["holders"] = tuple(leftovers.holders(jobs, mark, ports=(said,) if said else ()))
    if wanted & set(port.FAULTS):
        values["ports"] = leftovers.free_ports()
    if wanted & set(cache_directory.FAULTS):
        values["writable"] = _writable(environ, str(place))
    return Survey(**values)


def _writable(environ: Mapping[str, str], now: str) -> tuple[str, ...]:
    """Local directories with room where this user could have a compile cache."""
    home = environ.get("XDG_CACHE_HOME") or (os.path.join(environ["HOME"], ".cache") if environ.get("HOME") else "")
    found = []
    for parent in ("/opt/dlami/nvme", "/mnt/nvme", "/local_storage", home, "/var/tmp"):
        path = os.path.join(parent, "neuron-compile-cache")
        if not parent.startswith("/") or path == now or not os.access(parent, os.W_OK | os.X_OK):
            continue
        if locks.network_file_system(Path(parent)) or locks.file_system(Path(parent)) in ("tmpfs", "ramfs"):
            continue
        if (not os.path.lexists(path) or os.access(path, os.W_OK | os.X_OK)) and _free(parent) >= ROOM:
            found.append(path)
    return tuple(found)


def _free(path: str) -> int:
    try:
        state = os.statvfs(path)
    except OSError:
        return 0
    return state.f_bavail * state.f_frsize
