"""The functions that a rule's expressions may call on values. All are pure and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from neuronwatch.judge.match.confirm import Confirmer
from neuronwatch.model.version import Version

MAX_TEXT = 20_000
"""No pattern looks at more of a text."""
MAX_ITEMS = 100_000
"""Longer texts and lists are not looked at: the answer is unknown."""


JUDGING = Confirmer()
"""Asks the patterns of expressions, so that the watchdog of `source.watch` can end one that takes for ever."""


def _matches(text: Any, pattern: str) -> bool:
    return JUDGING.found(pattern, str(text)[:MAX_TEXT])


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def _any_in(left: Any, right: Any) -> bool:
    return bool(set(map(str, _as_list(left))) & set(map(str, _as_list(right))))


def _int(value: Any) -> int:
    return int(float(str(value).replace(",", "").strip()))


def _release_of(package: str, version: str) -> str | None:
    """The SDK release that shipped this version of a package, from the dated tables; None when not in them."""
    from neuronwatch.data import releases  # the tables load only when a rule asks for them

    return releases.release_of(package, version)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "version": Version,
    "matches": _matches,
    "lower": lambda text: str(text).lower(),
    "int": _int,
    "float": float,
    "str": str,
    "len": len,
    "abs": abs,
    "min": lambda *args: min(*args) if len(args) > 1 else min(args[0]),
    "max": lambda *args: max(*args) if len(args) > 1 else max(args[0]),
    "sum": lambda items: sum(items),
    "any_in": _any_in,
    "ln": math.log,
    "basename": lambda text: str(text).rstrip("/").rsplit("/", 1)[-1],
    "dirname": lambda text: str(text).rstrip("/").rpartition("/")[0],
    "startswith": lambda text, start: str(text).startswith(str(start)),
    "endswith": lambda text, end: str(text).endswith(str(end)),
    "release_of": _release_of,
}
