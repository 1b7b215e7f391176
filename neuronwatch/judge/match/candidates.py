"""From places of windows to hits; shared by the matchers, so that both mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.confirm import Confirmer, line_bounds, line_text, pieces
from neuronwatch.judge.match.table import Entry
from neuronwatch.judge.match.types import PIECE, Buffer, Hit


class Candidates:
    """Checks the lines that hold a window against the literals behind it, then against the patterns."""

    def __init__(
        self, entries: Sequence[tuple[Entry, ...]], units: Sequence[Unit], heads: frozenset[int], confirm: Confirmer
    ) -> None:
        self._behind = [
            tuple((literal, literal.decode(), tuple((units[n], n in heads) for n in users)) for literal, users in group)
            for group in entries
        ]
        self._confirm = confirm

    def hits(self, data: Buffer, base: int, start: int, end: int, places: Iterable[tuple[int, int]]) -> list[Hit]:
        """`places` are (offset of a byte of the window in `data`, window number), by rising offset."""
        hits: list[Hit] = []
        seen: set[int] = set()
        low = high = -1
        for at, window in places:
            if at >= high:
                if seen:
                    self._line(data, base, low, high, seen, hits)
                    seen = set()
                low, high = line_bounds(data, at, start, end)
                if high - low > PIECE:
                    return hits + self._slow(data, base, start, end, [(at, window), *places])
            seen.add(window)
        if seen:
            self._line(data, base, low, high, seen, hits)
        return hits

    def _line(self, data: Buffer, base: int, low: int, high: int, windows: set[int], hits: list[Hit]) -> None:
        raw = data[low:high]
        lowered = raw.lower()
        asked: dict[Unit, list[str]] = {}
        for window in windows:
            for literal, text, users in self._behind[window]:
                if literal in lowered:
                    for unit, head in users:
                        heads = asked.setdefault(unit, [])
                        if head:
                            heads.append(text)
        if asked:
            start, end = base + low, base + high
            for number in self._confirm.ids(asked.items(), line_text(raw)):
                hits.append(Hit(number, start, end))

    def _slow(self, data: Buffer, base: int, start: int, end: int, places: Iterable[tuple[int, int]]) -> list[Hit]:
        """The same where lines longer than PIECE are among them."""
        wanted: dict[tuple[int, int], set[int]] = {}
        low = high = -1
        for at, window in places:
            if not low <= at < high:
                low, high = line_bounds(data, at, start, end)
            for piece in pieces(at, low, high):
                wanted.setdefault(piece, set()).add(window)
        hits: list[Hit] = []
        for (begin, stop), windows in sorted(wanted.items()):
            self._line(data, base, begin, stop, windows, hits)
        return hits
