"""The file system under the compile cache: the mount table joined with the cache directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin

DEFAULT = "/var/tmp/neuron-compile-cache"


def derive(facts: FactsView) -> Iterable[Fact]:
    mounts = _mounts(facts)
    said = False
    for directory, origin in _directories(facts):
        said = True
        scheme = re.match(r"^([a-z0-9]{2,6})://", directory)
        kind = scheme.group(1) if scheme else _under(directory, mounts)
        if kind:
            yield Fact("cache.fstype", kind, origin)
    if not said:
        kind = _under(DEFAULT, mounts)
        traces = facts.first("cache.misses") or facts.first("cache.miss") or facts.first("cache.hit")
        if kind and traces is not None:
            yield Fact("cache.fstype", kind, traces.origin)


def _directories(facts: FactsView) -> Iterator[tuple[str, Origin]]:
    """Cache directories that the evidence names: by the run's own lines, else by its settings."""
    found = False
    for name in ("cache.dirs", "cache.dir", "cc.cache_dir", "launch.cache_dir", "env.NEURON_COMPILE_CACHE_URL",
                 "env.TORCH_NEURONX_NEFF_CACHE_DIR"):  # fmt: skip
        if found and name.startswith(("cc.", "launch.", "env.")):
            return
        for reading in facts.all(name):
            values = reading.value if isinstance(reading.value, tuple) else (reading.value,)
            for value in values:
                if isinstance(value, str) and (value.startswith("/") or "://" in value):
                    found = True
                    yield value, reading.origin


def _mounts(facts: FactsView) -> dict[str, str]:
    """Mount point -> type, of every mount table in the evidence."""
    found: dict[str, str] = {}
    for reading in facts.all("host.mounts"):
        for pair in reading.value if isinstance(reading.value, tuple) else ():
            point, _, kind = str(pair).rpartition(" ")
            if point and kind:
                found.setdefault(point, kind)
    for name, kind in (("host.network_mounts", "nfs"), ("host.tmpfs_mounts", "tmpfs")):
        for reading in facts.all(name):
            for mounted in reading.value if isinstance(reading.value, tuple) else ():
                found.setdefault(str(mounted), kind)
    return found


def _under(directory: str, mounts: dict[str, str]) -> str:
    """Type of the deepest mount that holds the directory, "" when no mount does."""
    path = directory.rstrip("/") + "/"
    holding = [point for point in mounts if path.startswith(point.rstrip("/") + "/")]
    return mounts[max(holding, key=len)] if holding else ""
