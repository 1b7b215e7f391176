"""From places of windows to hits; shared by the matchers, so that both mean the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.confirm import Confirmer, PatternTooSlow, Question, line_bounds, line_text, lines_of, pieces
from neuronwatch.judge.match.table import Behind, Entry
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer, Hit

MANY = 24
"""Places that make it worth asking which literals are in a part of a text at all,"""
SMALL = 64 * 1024
"""in parts up to so many bytes: in a larger one every literal is somewhere."""


class _User(NamedTuple):
    """A unit behind a literal: its question, its patterns, the pattern when it is only one (else -1), whether its match
    begins with the literal, and its number."""

    question: Question
    ids: tuple[int, ...]
    single: int
    head: bool
    number: int


class _Behind(NamedTuple):
    """A literal behind a window, as bytes and as text, with those that need it; `others` are those but the guard."""

    literal: bytes
    text: str
    users: tuple[_User, ...]
    others: tuple[_User, ...]


class Candidates:
    """Checks the lines that hold a window against the literals behind it, then against the patterns."""

    def __init__(self, entries: Behind, units: Sequence[Unit], heads: frozenset[int], confirm: Confirmer) -> None:
        self._entries = entries
        self._units = units
        self._heads = heads
        self._confirm = confirm
        self._known: dict[int, tuple[_Behind, ...]] = {}
        self._guards: dict[int, bool] = {}
        self._here: dict[int, tuple[_Behind, ...]] | None = None
        """Of each window in the part that is looked at the literals that are there."""

    def _behind(self, window: int) -> tuple[_Behind, ...]:
        """What is behind a window; made when it is first found, most never are."""
        known = self._known.get(window)
        if known is None:
            known = self._known[window] = tuple(map(self._entry, self._entries[window]))
        return known

    def _entry(self, entry: Entry) -> _Behind:
        users = tuple(map(self._user, entry.units))
        others = tuple(user for user in users if user.single != self._confirm.guard)
        return _Behind(entry.literal, entry.literal.decode(), users, users if len(others) == len(users) else others)

    def _user(self, number: int) -> _User:
        regex, ids = self._units[number]
        return _User(self._confirm.question(regex), ids, ids[0] if len(ids) == 1 else -1, number in self._heads, number)

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

    def narrowed(self, places: list[tuple[int, int]], data: Buffer, start: int, end: int) -> list[tuple[int, int]]:
        """Of a small part of a text (of one that grows) those places whose window has one of its literals there; until the next
        part only these literals are looked for. Ordinary words that are a part of some literal are in every line of a log, the
        literals themselves in none."""
        self._here = None
        if len(places) < MANY or end - start > SMALL:
            return places
        lowered = bytes(data[start:end]).lower()
        here = {
            window: tuple(item for item in self._behind(window) if item.literal in lowered) for window in {at[1] for at in places}
        }
        self._here = here
        return [place for place in places if here[place[1]]]

    def unguarded(
        self, places: list[tuple[int, int]], data: Buffer, start: int, end: int, wanted: Callable[[int], tuple[bytes, ...] | None]
    ) -> list[tuple[int, int]]:
        """Without the places that only the guard looks for, in lines that nobody wants: in an error storm these are most."""
        guards = {window for window in {number for _, number in places} if self._guards_only(window)}
        mine = [place for place in places if place[1] in guards]
        texts = wanted(len(mine)) if mine else None
        if texts is None:
            return places
        starts, lines = lines_of(mine, data, start, end)
        lowered = b"\n".join(lines).lower()
        here = [text for text in texts if text in lowered]
        if not here:
            return [place for place in places if place[1] not in guards]
        wanting = {
            begin
            for begin, line in zip(starts, map(bytes.lower, map(bytes, lines)), strict=True)
            if any(text in line for text in here)
        }
        return [place for place in places if place[1] not in guards or starts[bisect_right(starts, place[0]) - 1] in wanting]

    def _guards_only(self, window: int) -> bool:
        known = self._guards.get(window)
        if known is None:
            found = self._behind(window)
            known = self._guards[window] = bool(found) and not any(item.others for item in found)
        return known

    def _line(self, data: Buffer, base: int, low: int, high: int, windows: set[int], hits: list[Hit]) -> None:
        raw = data[low:high]
        lowered = raw.lower()
        behind = self._behind if self._here is None else self._here.__getitem__
        literals = [item for window in windows for item in behind(window) if item[0] in lowered]
        if not literals:
            return
        confirm = self._confirm
        if confirm.unwanted is not None and any(item[2] is not item[3] for item in literals) and confirm.unwanted(lowered):
            literals = [item._replace(users=item.others) for item in literals if item.others]
            if not literals:
                return
        text = line_text(raw)
        while True:
            confirm.asking = True
            try:
                found = _found(confirm, literals, text)
                break
            except PatternTooSlow:
                confirm.drop(text)
            finally:
                confirm.asking = False
        start, end = base + low, base + high
        hits.extend([Hit(number, start, end) for number in sorted(found)])

    def _slow(self, data: Buffer, base: int, start: int, end: int, places: Iterable[tuple[int, int]]) -> list[Hit]:
        """The same where lines longer than PIECE are among them."""
        wanted: dict[tuple[int, int], set[int]] = {}
        low = high = -1
        near = far = 0  # places between them are in the same pieces
        known: set[int] = set()
        for at, window in places:
            if near <= at < far and window in known:
                continue
            if not low <= at < high:
                low, high = line_bounds(data, at, start, end)
            if not near <= at < far:
                step = (at - low) // OVERLAP
                near, far, known = low + step * OVERLAP, min(high, low + (step + 1) * OVERLAP), set()
            known.add(window)
            for piece in pieces(at, low, high):
                wanted.setdefault(piece, set()).add(window)
        hits: list[Hit] = []
        for (begin, stop), windows in sorted(wanted.items()):
            self._line(data, base, begin, stop, windows, hits)
        return hits


def _found(confirm: Confirmer, literals: Sequence[_Behind], text: str) -> set[int]:
    """The patterns behind `literals` that are found in `text`. Written for speed: a log may have millions of such lines."""
    found: set[int] = set()
    tried: set[int] = set()
    low = text.lower() if text.isascii() else None  # elsewhere lower case may have other offsets
    for _, literal, users, _ in literals:
        for question, ids, single, head, number in users:
            if single in found or number in tried:
                continue
            confirm.asked += 1
            confirm.current = question
            if not head or low is None:
                tried.add(number)
                if question.search(text):
                    found.update(ids)
                continue
            at = low.find(literal)
            while at >= 0:
                if question.match(text, at):
                    found.update(ids)
                    break
                at = low.find(literal, at + 1)
    return found
