"""Looks up on the host what the remedies of the faults at hand need to know, and no more: the cache, locks, holders, ports."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neuronwatch.dialect import own_programs, rewrite
from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import JobSpec
from neuronwatch.model.records import Value
from neuronwatch.parse import _toml
from neuronwatch.remedy import cache, checkpoints, leftovers, locks
from neuronwatch.remedy.actions import (
    cache_directory,
    end_leftover,
    hub_cache_push,
    port,
    quarantine_entry,
    stale_lock,
    visible_cores,
)
from neuronwatch.remedy.api import Case, Checkpoint, Survey

ROOM = 10 * 1024**3
"""Bytes that a new place for the cache has free at least."""


def completed(case: Case, jobs: Path, mark: str, now: float, host_root: str = "/") -> Case:
    """The case with what its faults need to know of the host: for one that is about to be decided. Raises nothing."""
    case = replace(case, facts={**_configured(case.spec), **case.facts})
    faults = [item.fault for item in case.findings if item.role == "cause" and item.fault]
    found = survey(case.spec, faults, case.environ, case.facts, jobs, mark, now)
    place = _output_directory(case)
    if place is None or (case.exit is None and not case.stall):
        good, bad = list[Checkpoint](), list[checkpoints.Torn]()
    else:
        good, bad = checkpoints.look(place)
    torn = tuple(item.path for item in bad)
    online = _online(case.environ) if set(faults) & set(hub_cache_push.FAULTS) else case.online
    return replace(case, survey=replace(found, torn=torn, host_root=host_root), checkpoints=tuple(good), online=online)


def _configured(spec: JobSpec) -> dict[str, Value]:
    """What the configuration of our own programs says, as the `launch.*` facts of its settings."""
    levels = rewrite.levels(spec.argv)
    words = levels[-1].words if levels else ()
    keys, name = own_programs.keys_of(words), own_programs.config_of(words)
    if not keys or not name:
        return {}
    try:
        document = _toml.loads(Path(spec.cwd, name).read_bytes()[:1_000_000].decode())
    except (OSError, ValueError):
        return {}
    found: dict[str, Value] = {}
    for concept, key in keys.items():
        section, _, option = key.partition(".")
        table = document.get(section)
        value = table.get(option) if isinstance(table, dict) else None
        if isinstance(value, (str, int, float, bool)):
            found[f"launch.{concept}"] = value
    return found


def _output_directory(case: Case) -> Path | None:
    said = rewrite.read(case.spec, "output_dir") or case.facts.get("launch.output_dir") or os.path.dirname(case.progress.checkpoint)
    return Path(case.spec.cwd, said) if isinstance(said, str) and said else None


def _online(environ: Mapping[str, str]) -> bool:
    """Whether the Hub answers to a connection."""
    if environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return False
    parts = urlsplit(environ.get("HF_ENDPOINT") or "https://huggingface.co")
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 443), timeout=2.0):
            return True
    except (OSError, ValueError):
        return False


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
