"""The needs of all branches, worked out once and kept by content (the parse of a big one takes a millisecond)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    if not isinstance(found, list) or len(found) != count:
        return None
    return [_from_json(item) for item in found]


def _from_json(item: Any) -> Need | None:
    if item is None or isinstance(item, str):
        return item
    return (item[0], tuple(child for child in map(_from_json, item[1]) if child is not None))
