"""Version numbers of packages, drivers and kernels, compared by their leading numeric parts."""

from __future__ import annotations

import re
from functools import total_ordering

_NUMERIC = re.compile(r"\d+(?:\.\d+)*")


@total_ordering
class Version:
    """`2.21.33363.0+82129205` compares as (2, 21, 33363, 0); a shorter one is padded with zeros: 2.26 == 2.26.0.

    `Version("2.26.10") < "2.29"` works against plain strings. Text without a digit compares as ().
    """

    __slots__ = ("parts", "text")

    def __init__(self, text: str) -> None:
        self.text = str(text)
        found = _NUMERIC.search(self.text)
        parts = [int(part[:18]) for part in found.group().split(".")] if found else []
        while parts and parts[-1] == 0:
            parts.pop()
        self.parts = tuple(parts)

    def __eq__(self, other: object) -> bool:
        return self.parts == _as_version(other).parts

    def __lt__(self, other: object) -> bool:
        return self.parts < _as_version(other).parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Version({self.text!r})"

    def __str__(self) -> str:
        return self.text


def _as_version(value: object) -> Version:
    return value if isinstance(value, Version) else Version(str(value))
