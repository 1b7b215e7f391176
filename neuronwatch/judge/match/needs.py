"""The needs of all branches, worked out once and kept by content (the parse of a big one takes a millisecond)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from neuronwatch.judge.match import store
from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.literals import Need, requirement

Needs = Sequence["Need | None"]


def needs_of(units: Sequence[Unit], cache_dir: Path | None) -> Needs:
    """For each unit every choice that it leaves, or None where it needs no literal."""
    texts = [unit.regex for unit in units]
    name = store.digest(b"needs", *(text.encode("utf-8", "surrogatepass") for text in texts)) + ".match"
    known = _read(store.load(cache_dir, name), len(texts))
    if known is None:
        known = [_need(text) for text in texts]
        store.save(cache_dir, name, json.dumps(known).encode())
    return known


def _need(text: str) -> Need | None:
    try:
        return requirement(text)[0]
    except re.error:
        return None


def _read(body: bytes | None, count: int) -> list[Need | None] | None:
    if body is None:
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    # Lists stand for tuples here: nobody looks at the difference, and converting them takes longer than reading them.
    return cast("list[Need | None]", found) if isinstance(found, list) and len(found) == count else None
