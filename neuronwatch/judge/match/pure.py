"""The matcher without a fast library: find the literals with `bytes.find`, then ask `re` about the line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuronwatch.judge.match.confirm import STEP, Confirmer, line_bounds, pieces
from neuronwatch.judge.match.types import PIECE, Buffer, Hit, Pattern

_LINES = re.compile(rb"[^\r\n]+")


class PureMatcher:
    """Equal to the fast matcher in its results; its time grows with the number of literals."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._confirm = Confirmer(patterns)
        self._literals: dict[bytes, list[int]] = {}
        self._folded: dict[bytes, list[int]] = {}
        self._everywhere: list[int] = []
        for pattern in patterns:
            if not pattern.literals:
                self._everywhere.append(pattern.id)
            for text in pattern.literals:
                table = self._folded if pattern.ignore_case else self._literals
                table.setdefault(text.encode("utf-8"), []).append(pattern.id)

    def scan(self, buffer: Buffer, base: int, start: int = 0, end: int | None = None) -> list[Hit]:
        high = len(buffer) if end is None else end
        wanted: dict[tuple[int, int], set[int]] = {}
        self._collect(buffer, buffer, start, high, self._literals, wanted)
        if self._folded:
            self._collect(buffer, buffer.lower(), start, high, self._folded, wanted)
        if self._everywhere:
            for match in _LINES.finditer(buffer, start, high):
                for piece in _all_pieces(*match.span()):
                    wanted.setdefault(piece, set()).update(self._everywhere)
        hits: list[Hit] = []
        for (low, top), ids in sorted(wanted.items()):
            hits.extend(self._confirm.hits(buffer, base, low, top, sorted(ids)))
        return hits

    @staticmethod
    def _collect(
        data: Buffer, haystack: Buffer, start: int, end: int,
        table: dict[bytes, list[int]], wanted: dict[tuple[int, int], set[int]],
    ) -> None:  # fmt: skip
        for literal, ids in table.items():
            at = haystack.find(literal, start, end)
            while at >= 0:
                low, high = line_bounds(data, at, start, end)
                for piece in pieces(at, low, high):
                    wanted.setdefault(piece, set()).update(ids)
                behind = high if high - low <= PIECE else low + ((at - low) // STEP + 1) * STEP
                at = haystack.find(literal, max(behind, at + 1), end)


def _all_pieces(begin: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = begin
    while at < end:
        found.extend(piece for piece in pieces(at, begin, end) if piece not in found[-2:])
        at = found[-1][1]
    return found
