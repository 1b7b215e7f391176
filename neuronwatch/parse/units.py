"""Numbers as the Neuron tools print them: sizes (GB means GiB), percentages, sets of cores."""

from __future__ import annotations

import math
import re
from typing import Any

from neuronwatch.parse._lazy import lazy

_SIZE = lazy(r"\s{0,8}(?P<number>\d{1,15}(?:\.\d{1,9})?)\s?(?P<unit>[KMGTP]?)i?B?(?:ytes?)?\b", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_RANGE = lazy(r"(?<!\d)(\d{1,9})(?!\d)(?:\s?-\s?(\d{1,9})(?!\d))?")

MAX_CORES = 100_000
"""A set of cores that names more than this is not believed."""


def size(text: str) -> int | None:
    """Bytes of `15.671GB`, `8 GB`, `41.172KB`, `0.0B`, `1272`; None for `n/a` and anything else. Units are powers of
    1024, as libnrt, neuron-ls and neuron-top mean them."""
    found = _SIZE.match(text)
    if found is None:
        return None
    return int(float(found.group("number")) * 1024 ** _POWER[found.group("unit").upper()])


def number(value: Any) -> float | None:
    """A finite number of a JSON document (not a bool), else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        real = float(value)
    except OverflowError:
        return None
    return real if math.isfinite(real) else None


def whole(value: Any) -> int | None:
    """A number of a JSON document, or of a string such as `"1"`, as int, else None."""
    if isinstance(value, str) and re.fullmatch(r"\s{0,8}-?\d{1,18}\s{0,8}", value):
        return int(value)
    real = number(value)
    return None if real is None else int(real)


def indexes(text: str) -> tuple[int, ...]:
    """The numbers of `0-3,8` or `12, 3, 4, 1`, ranges expanded, in the order as written and without repeats."""
    found: dict[int, None] = {}
    for part in _RANGE.finditer(text[:4000]):
        first = int(part.group(1))
        last = int(part.group(2) or first)
        if last < first or last - first + len(found) > MAX_CORES:
            continue
        found.update(dict.fromkeys(range(first, last + 1)))
    return tuple(found)
