"""Which few bytes to look for so that every line that a pattern can match is found.

Each literal is represented by its rarest WINDOW bytes: short texts of equal length are what the fast matcher is fastest
with, and literals that share a window are found together. What a window finds is checked against the whole literal and
then by `re`, so this choice changes the time of a scan, never its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from neuronwatch.judge.match.literals import Need, choose, plain_price
from neuronwatch.judge.match.ordinary import ordinary_pairs, pairs_of, rarity

WINDOW = 8
ROUNDS = 3
HOT = 4
"""A window found this often in a sample is avoided where the pattern leaves a choice."""


class Entry(NamedTuple):
    """A literal (lower case) behind a window, and the patterns that need it."""

    literal: bytes
    ids: tuple[int, ...]


class Table(NamedTuple):
    """`windows[i]` (lower case, to be found whatever the case) leads to `entries[i]`; the patterns `everywhere` have no
    literal and must be tried on every line."""

    windows: tuple[bytes, ...]
    entries: tuple[tuple[Entry, ...], ...]
    everywhere: tuple[int, ...]


Counts = Callable[[tuple[bytes, ...], bytes], Mapping[int, int]]
"""How often each window occurs in a sample."""


def make_table(needs: Mapping[int, Need | None]) -> Table:
    """The table for logs of which nothing is known."""
    return _table({number: _texts(need, plain_price) for number, need in needs.items()}, rarity(ordinary_pairs()))


def make_table_for(needs: Mapping[int, Need | None], sample: bytes, count: Counts) -> Table:
    """The table for a log of which `sample` is a part: what is frequent there is avoided."""
    rare = rarity(pairs_of(sample[: 1 << 17] + b"\n"))
    dear: dict[bytes, int] = {}

    def price(text: str) -> float:
        return plain_price(text) + dear.get(text.encode().lower(), 0)

    chosen = {number: _texts(need, price) for number, need in needs.items()}
    table = _table(chosen, rare)
    for _ in range(ROUNDS):
        counts = count(table.windows, sample)
        hot = [index for index, found in counts.items() if found >= HOT]
        affected: set[int] = set()
        for index in hot:
            for entry in table.entries[index]:
                dear[entry.literal] = counts[index]
                affected.update(entry.ids)
        changed = False
        for number in affected:
            texts = _texts(needs[number], price)
            changed = changed or texts != chosen[number]
            chosen[number] = texts
        if not changed:
            break
        table = _table(chosen, rare)
    return table


def _texts(need: Need | None, price: Callable[[str], float]) -> tuple[bytes, ...]:
    return () if need is None else tuple(text.encode().lower() for text in choose(need, price))


def _table(chosen: Mapping[int, Iterable[bytes]], rare: Callable[[bytes], float]) -> Table:
    users: dict[bytes, list[int]] = {}
    everywhere = []
    for number, texts in chosen.items():
        known = dict.fromkeys(texts)
        if not known:
            everywhere.append(number)
        for text in known:
            users.setdefault(text, []).append(number)
    behind: dict[bytes, list[Entry]] = {}
    for literal in sorted(users):
        behind.setdefault(_window(literal, rare), []).append(Entry(literal, tuple(sorted(users[literal]))))
    windows = tuple(sorted(behind))
    return Table(windows, tuple(tuple(behind[window]) for window in windows), tuple(sorted(everywhere)))


def _window(literal: bytes, rare: Callable[[bytes], float]) -> bytes:
    if len(literal) <= WINDOW:
        return literal
    return min((literal[at : at + WINDOW] for at in range(len(literal) - WINDOW + 1)), key=rare)
