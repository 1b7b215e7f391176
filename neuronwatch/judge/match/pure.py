"""The matcher without a fast library: windows are found with `bytes.find`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain

from neuronwatch.judge.match.ansi import add_hidden
from neuronwatch.judge.match.branches import Unit, units_of
from neuronwatch.judge.match.candidates import Candidates
from neuronwatch.judge.match.confirm import STEP, Confirmer, line_bounds, line_text, pieces
from neuronwatch.judge.match.needs import Needs, need_of
from neuronwatch.judge.match.table import make_table
from neuronwatch.judge.match.types import PIECE, Buffer, Hit, Pattern

_LINES = re.compile(rb"[^\r\n]+")


class PureMatcher:
    """Equal to the fast matcher in its results; its time grows with the number of windows."""

    left_out = 0
    sieving = False

    def __init__(self, units: Sequence[Unit], needs: Needs, confirm: Confirmer | None = None) -> None:
        self.confirm = confirm or Confirmer()
        self._units = units
        self._needs = needs
        self._table = make_table(needs)
        self._candidates = Candidates(self._table.entries, units, self._table.heads, self.confirm)

    def scan(self, buffer: Buffer, base: int, start: int = 0, end: int | None = None) -> list[Hit]:
        high = len(buffer) if end is None else end
        hits = self._scan(buffer, base, start, high)
        if buffer.find(b"\x1b", start, high) >= 0:
            hits = add_hidden(hits, buffer, base, start, high, lambda clean: self._scan(clean, 0, 0, len(clean)))
        return hits

    def tally(self, buffer: Buffer, start: int, end: int) -> Mapping[int, int]:
        return Counter(hit.pattern_id for hit in self.scan(buffer, 0, start, end))

    def lean(
        self, ids: frozenset[int], plus: Sequence[Pattern] = (), sample: bytes = b"", left: int = 0,
        minor: Set[int] = frozenset(),
    ) -> PureMatcher:  # fmt: skip
        units, kept = without(self._units, ids)
        more = units_of(plus)
        needs = [*(self._needs[number] for number in kept), *(need_of(unit.regex) for unit in more)]
        return PureMatcher((*units, *more), needs, self.confirm)

    def _scan(self, buffer: Buffer, base: int, start: int, end: int) -> list[Hit]:
        lowered = buffer[start:end].lower()
        places = sorted(chain.from_iterable(
            _places(lowered, window, index, start) for index, window in enumerate(self._table.windows)
        ))  # fmt: skip
        hits = self._candidates.hits(buffer, base, start, end, iter(places))
        everywhere = [self._units[number] for number in self._table.everywhere]
        return with_everywhere(hits, self.confirm, everywhere, buffer, base, start, end)


def _places(lowered: Buffer, window: bytes, index: int, shift: int) -> Iterator[tuple[int, int]]:
    """Enough places of a window to have it once in each line and piece; `at` is its last byte, as in the fast matcher."""
    size = len(window)
    found = lowered.find(window)
    while found >= 0:
        at = found + size - 1
        yield shift + at, index
        low, high = line_bounds(lowered, at, 0, len(lowered))
        behind = high if high - low <= PIECE else low + ((at - low) // STEP + 1) * STEP
        found = lowered.find(window, max(found + 1, behind - size + 1))


def without(units: Sequence[Unit], ids: frozenset[int]) -> tuple[tuple[Unit, ...], list[int]]:
    """The units without the patterns `ids`, and the old numbers of those that are left."""
    left = [(Unit(unit.regex, tuple(i for i in unit.ids if i not in ids)), n) for n, unit in enumerate(units)]
    return tuple(unit for unit, _ in left if unit.ids), [number for unit, number in left if unit.ids]


def with_everywhere(
    hits: list[Hit], confirm: Confirmer, units: Sequence[Unit], buffer: Buffer, base: int, start: int, end: int
) -> list[Hit]:
    """`hits` and those of units without any literal, which are tried on each line."""
    if not units:
        return hits
    found = set(hits)
    for line in _LINES.finditer(buffer, start, end):
        for low, high in _all_pieces(*line.span()):
            text = line_text(buffer[low:high])
            ids = {number for unit in units if confirm.holds(unit, text) for number in unit.ids}
            found.update(Hit(number, base + low, base + high) for number in ids)
    return sorted(found, key=lambda hit: (hit.line_start, hit.line_end, hit.pattern_id))


def _all_pieces(begin: int, end: int) -> Iterator[tuple[int, int]]:
    at = begin
    while at < end:
        low, high = pieces(at, begin, end)[-1]
        yield low, high
        if high >= end:
            return
        at = low + STEP
