"""The needs of all branches, worked out once and kept by content (the parse of a big one takes a millisecond)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Union, cast, overload

from neuronwatch.judge.match import store
from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.literals import Need, requirement

Needs = Sequence[Union[Need, None]]


class _Stored(Sequence[Union[Need, None]]):
    """Needs as JSON, one a line, read when asked for: of thousands a scan wants a few dozen, and all together would take
    tens of megabytes. (Lists stand for tuples in them: nobody looks at the difference.)"""

    def __init__(self, body: bytes) -> None:
        self._lines = body.split(b"\n")

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Need | None: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Need | None]: ...

    def __getitem__(self, index: int | slice) -> Need | Sequence[Need | None] | None:
        if isinstance(index, slice):
            return [cast("Need | None", json.loads(line)) for line in self._lines[index]]
        return cast("Need | None", json.loads(self._lines[index]))


def needs_of(units: Sequence[Unit], cache_dir: Path | None) -> Needs:
    """For each unit every choice that it leaves, or None where it needs no literal."""
    texts = [unit.regex for unit in units]
    name = store.digest(b"needs", *(text.encode("utf-8", "surrogatepass") for text in texts)) + ".match"
    body = store.load(cache_dir, name)
    if body is None or body.count(b"\n") + 1 != len(texts):
        body = b"\n".join(json.dumps(need_of(text)).encode() for text in texts)
        store.save(cache_dir, name, body)
    return _Stored(body) if texts else ()


def need_of(regex: str) -> Need | None:
    try:
        return requirement(regex)[0]
    except re.error:
        return None
