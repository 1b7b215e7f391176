"""The needs of many patterns, worked out once and kept by content (the parse of a big pattern takes a millisecond)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuronwatch.judge.match import store
from neuronwatch.judge.match.literals import Need, requirement
from neuronwatch.judge.match.types import Pattern

Needs = Mapping[int, "Need | None"]


def quick_needs(patterns: Sequence[Pattern], cache_dir: Path | None) -> Needs:
    """For each pattern one set that is enough to look for: the literals it carries, else what its regex says."""
    bare = [pattern for pattern in patterns if not pattern.literals]
    found: dict[int, Need | None] = dict(full_needs(bare, cache_dir)) if bare else {}
    for pattern in patterns:
        if pattern.literals:
            found[pattern.id] = ("all", pattern.literals)
    return found


def full_needs(patterns: Sequence[Pattern], cache_dir: Path | None) -> Needs:
    """Every choice that each regex leaves."""
    texts = sorted({pattern.regex for pattern in patterns})
    name = store.digest(b"needs", *(text.encode("utf-8", "surrogatepass") for text in texts)) + ".match"
    known = _read(store.load(cache_dir, name), len(texts))
    if known is None:
        known = [_need(text) for text in texts]
        store.save(cache_dir, name, json.dumps(known, ensure_ascii=True).encode())
    by_text = dict(zip(texts, known))  # noqa: B905
    return {pattern.id: by_text[pattern.regex] for pattern in patterns}


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
