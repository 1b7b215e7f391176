"""Which few bytes to look for so that every line that a pattern can match is found.

Each literal is represented by its rarest WINDOW bytes: short texts of equal length are what the fast matcher is fastest
with, and literals that share a window are found together. What a window finds is checked against the whole literal and
then by `re`, so this choice changes the time of a scan, never its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from neuronwatch.judge.match.literals import Need, choose, plain_price
from neuronwatch.judge.match.needs import Needs
from neuronwatch.judge.match.ordinary import ordinary_pairs, rarest

WINDOW = 8
ROUNDS = 3
_SHORT = {1: 500.0, 2: 100.0, 3: 5.0}
"""Once a sample tells what is frequent, this and not its look makes a text dear (others: at most 2)."""
HOT = 4
"""A window found this often in a sample is avoided where the pattern leaves a choice."""


class Entry(NamedTuple):
    """A literal (lower case) behind a window, and the numbers of the units that need it."""

    literal: bytes
    units: tuple[int, ...]


class Table(NamedTuple):
    """`windows[i]` (lower case, to be found whatever the case) leads to `entries[i]`; the units `everywhere` have no
    literal and must be tried on every line."""

    windows: tuple[bytes, ...]
    entries: tuple[tuple[Entry, ...], ...]
    everywhere: tuple[int, ...]
    heads: frozenset[int]


Texts = tuple[tuple[bytes, ...], bool]
"""Literals (lower case) to look for, and whether they are heads."""
Counts = Callable[[Sequence[bytes], bytes], Mapping[int, int]]
"""How often each window occurs in a sample."""


def make_table(needs: Needs) -> Table:
    """The table for logs of which nothing is known."""
    return _table([_texts(need, plain_price) for need in needs], {})


def chosen_of(table: Table, count: int) -> list[Texts]:
    """The literals that a table looks for, for each of `count` units."""
    found: list[list[bytes]] = [[] for _ in range(count)]
    for entries in table.entries:
        for entry in entries:
            for number in entry.units:
                found[number].append(entry.literal)
    return [(tuple(texts), number in table.heads) for number, texts in enumerate(found)]


def make_table_for(chosen: Sequence[Texts], needs: Callable[[], Needs], sample: bytes, count: Counts) -> Table:
    """The table for a log of which `sample` is a part: starting from `chosen`, what is frequent there is avoided."""
    chosen = list(chosen)
    low = sample[: 1 << 17].lower()
    window_of: dict[bytes, bytes] = {}
    dear: dict[bytes, int] = {}

    def price(text: str) -> float:
        return min(plain_price(text), _SHORT.get(len(text), 2.0)) + dear.get(text.encode().lower(), 0)

    counted: dict[bytes, int] = {}
    table = _table(chosen, window_of)
    for _ in range(ROUNDS):
        fresh = [window for window in table.windows if window not in counted]
        counted.update(dict.fromkeys(fresh, 0))
        counted.update((fresh[index], found) for index, found in count(fresh, sample).items())
        affected: set[int] = set()
        for window, entries in zip(table.windows, table.entries):  # noqa: B905
            if counted[window] < HOT:
                continue
            for literal, units in entries:
                if literal not in window_of and len(literal) > WINDOW:
                    window_of[literal], left = _coldest(literal, low)
                    dear[literal] = left
                else:
                    dear[literal] = counted[window]
                if dear[literal]:
                    affected.update(units)
        for number in affected:
            chosen[number] = _texts(needs()[number], price)
        table = _table(chosen, window_of)
        if all(window in counted for window in table.windows):
            break
    return table


def _coldest(literal: bytes, low: bytes) -> tuple[bytes, int]:
    """The part of a literal that is rarest in the (lower-case) sample, and how often it is there."""
    parts = [literal[at : at + WINDOW] for at in range(len(literal) - WINDOW + 1)]
    counts = [low.count(part) for part in parts]
    least = min(counts)
    return parts[counts.index(least)], least


def restricted(table: Table, number_of: Mapping[int, int]) -> Table:
    """The table for the units that have a new number in `number_of`."""
    windows, entries = [], []
    for window, group in zip(table.windows, table.entries):  # noqa: B905
        left = [Entry(text, tuple(number_of[n] for n in units if n in number_of)) for text, units in group]
        left = [entry for entry in left if entry.units]
        if left:
            windows.append(window)
            entries.append(tuple(left))
    everywhere = tuple(number_of[number] for number in table.everywhere if number in number_of)
    heads = frozenset(number_of[number] for number in table.heads if number in number_of)
    return Table(tuple(windows), tuple(entries), everywhere, heads)


def joined(table: Table, other: Table, shift: int) -> Table:
    """Both tables in one; the units of the other one are numbered from `shift` on."""
    behind = dict(zip(table.windows, table.entries))  # noqa: B905
    for window, group in zip(other.windows, other.entries):  # noqa: B905
        moved = tuple(Entry(text, tuple(number + shift for number in users)) for text, users in group)
        behind[window] = (*behind.get(window, ()), *moved)
    everywhere = (*table.everywhere, *(number + shift for number in other.everywhere))
    heads = table.heads | {number + shift for number in other.heads}
    return Table(tuple(sorted(behind)), tuple(behind[window] for window in sorted(behind)), everywhere, heads)


def _texts(need: Need | None, price: Callable[[str], float]) -> Texts:
    if need is None:
        return (), False
    literals = choose(need, price)
    return tuple(literal.text.encode().lower() for literal in literals), literals[0].head


def _table(chosen: Sequence[Texts], window_of: Mapping[bytes, bytes]) -> Table:
    """`window_of` holds the windows of literals that shall not have the usual one."""
    users: dict[bytes, list[int]] = {}
    everywhere = []
    for number, (texts, _) in enumerate(chosen):
        if not texts:
            everywhere.append(number)
        for text in dict.fromkeys(texts):
            users.setdefault(text, []).append(number)
    behind: dict[bytes, list[Entry]] = {}
    for literal in sorted(users):
        window = window_of.get(literal) or _usual_window(literal)
        behind.setdefault(window, []).append(Entry(literal, tuple(users[literal])))
    windows = tuple(sorted(behind))
    heads = frozenset(number for number, (texts, head) in enumerate(chosen) if head and texts)
    return Table(windows, tuple(tuple(behind[window]) for window in windows), tuple(everywhere), heads)


@lru_cache(maxsize=16384)
def _usual_window(literal: bytes) -> bytes:
    return rarest(literal, WINDOW, ordinary_pairs())
