"""The matcher without a fast library: find the literals with `bytes.find`, then ask `re` about the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from neuronwatch.judge.match.types import Buffer, Hit, Pattern


def line_bounds(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Start and end (without the line end) of the line that holds the byte at `at`."""
    start = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
    end = data.find(b"\n", at)
    if end < 0:
        end = len(data)
    cut = data.find(b"\r", at, end)
    return start, (end if cut < 0 else cut)


class PureMatcher:
    """Equal to the fast matcher in its results; its time grows with the number of literals."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._search: dict[int, Callable[[str], object]] = {}
        self._literals: dict[bytes, list[int]] = {}
        self._folded: dict[bytes, list[int]] = {}
        self._everywhere: list[int] = []
        for pattern in patterns:
            self._search[pattern.id] = re.compile(pattern.regex).search
            if not pattern.literals:
                self._everywhere.append(pattern.id)
            for text in pattern.literals:
                table = self._folded if pattern.ignore_case else self._literals
                table.setdefault(text.encode("utf-8"), []).append(pattern.id)

    def scan(self, buffer: Buffer, base: int) -> Iterable[Hit]:
        data = bytes(buffer)
        wanted: dict[tuple[int, int], set[int]] = {}
        self._collect(data, data, self._literals, wanted)
        if self._folded:
            self._collect(data, data.lower(), self._folded, wanted)
        if self._everywhere:
            for match in re.finditer(rb"[^\r\n]+", data):
                wanted.setdefault(match.span(), set()).update(self._everywhere)
        hits: list[Hit] = []
        for (start, end), ids in sorted(wanted.items()):
            text = data[start:end].decode("utf-8", "replace")
            hits.extend(Hit(number, base + start, base + end) for number in sorted(ids) if self._search[number](text))
        return hits

    def _collect(
        self,
        data: bytes,
        haystack: bytes,
        table: dict[bytes, list[int]],
        wanted: dict[tuple[int, int], set[int]],
    ) -> None:
        for literal, ids in table.items():
            at = haystack.find(literal)
            while at >= 0:
                bounds = line_bounds(data, at)
                wanted.setdefault(bounds, set()).update(ids)
                at = haystack.find(literal, max(bounds[1], at + 1))
