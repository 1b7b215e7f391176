"""Databases of single widened expressions, with which they are tried on a sample of a big log. To compile one takes
milliseconds and depends on the rules only, so they are kept in the cache, all in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hyperscan

from neuronwatch.judge.match import database as db
from neuronwatch.judge.match import store
from neuronwatch.judge.match.superset import Superset

MOST = 8 * 1024 * 1024
"""Bytes of the file; those that were not asked for the longest time go first."""


class Cuts:
    """To be closed by `save`."""

    def __init__(self, cache_dir: Path | None) -> None:
        self._cache_dir = cache_dir
        self._name = store.digest(b"cuts", db.version().encode()) + ".match"
        self._known = _parted(store.load(cache_dir, self._name))
        self._new = False

    def found(self, item: Superset, sample: bytes, most: int) -> int:
        """How often an expression is found in a sample, counted up to `most`. Raises hyperscan.error for one that is too
        much for it."""
        return db.count(self._database(item), sample, most)

    def _database(self, item: Superset) -> Any:
        key = store.digest(item.expression, b"i" if item.fold else b"")
        known = self._known.pop(key, None)
        if known is not None:
            try:
                made = db.load(known)
                self._known[key] = known  # the latest stands last
                return made
            except (hyperscan.error, ValueError):
                pass  # of another processor
        made = db.build((), (item,))
        self._known[key] = hyperscan.dumpb(made)
        self._new = True
        return made

    def save(self) -> None:
        """Keeps what was compiled."""
        if not self._new:
            return
        kept: dict[str, bytes] = {}
        room = MOST
        for key, data in reversed(self._known.items()):
            room -= len(data)
            if room < 0:
                break
            kept[key] = data
        kept = dict(reversed(kept.items()))
        head = json.dumps({key: len(data) for key, data in kept.items()}).encode()
        store.save(self._cache_dir, self._name, b"\n".join([head, b"".join(kept.values())]))
        self._new = False


def _parted(body: bytes | None) -> dict[str, bytes]:
    """What `save` wrote, or nothing when it is something else."""
    head, _, rest = (body or b"").partition(b"\n")
    try:
        sizes = json.loads(head or b"{}")
        parts: dict[str, bytes] = {}
        at = 0
        for key, size in sizes.items():
            if type(size) is not int or not 0 < size <= len(rest) - at:
                return {}
            parts[str(key)] = rest[at : at + size]
            at += size
    except (ValueError, AttributeError, RecursionError):
        return {}
    return parts
