"""Which few bytes to look for so that every line that a pattern can match is found.

Each literal is represented by WINDOW of its bytes, if possible by some that other literals have too: few short texts of
equal length are what the fast matcher is fastest with. What a window finds is checked against the whole literal and
then by `re`, so this choice changes the time of a scan, never its result.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from neuronwatch.judge.match.literals import Need, choose, plain_price
from neuronwatch.judge.match.needs import Needs
from neuronwatch.judge.match.ordinary import in_ordinary, ordinary_pairs, rarest

WINDOW = 8
COUNTED = 64 * 1024
"""The part of a sample in which single texts are counted."""
SHARED = 6
"""Shorter windows are not given to longer literals: they find too much."""
_SHORT = {1: 500.0, 2: 100.0, 3: 5.0}
"""Once a sample tells what is frequent, this and not its look makes a text dear (others: at most 2)."""
HOT = 2
"""A window found this often in a sample is avoided where the pattern leaves a choice."""


class Entry(NamedTuple):
    """A literal (lower case) behind a window, and the numbers of the units that need it."""

    literal: bytes
    units: tuple[int, ...]


class Table(NamedTuple):
    """`windows[i]` (lower case, to be found whatever the case) leads to `entries[i]`; the units `everywhere` have no
    literal and must be tried on every line."""

    windows: Sequence[bytes]
    entries: Sequence[tuple[Entry, ...]]
    everywhere: tuple[int, ...]
    heads: frozenset[int]
    units: int
    """The number of units."""


class Behind(Protocol):
    """The entries behind each window, asked for one by one."""

    def __getitem__(self, index: int, /) -> tuple[Entry, ...]: ...


class Chained:
    """One sequence of entries behind another."""

    def __init__(self, first: Sequence[tuple[Entry, ...]], second: Sequence[tuple[Entry, ...]]) -> None:
        self._first = first
        self._second = second

    def __getitem__(self, index: int) -> tuple[Entry, ...]:
        return self._first[index] if index < len(self._first) else self._second[index - len(self._first)]


Texts = tuple[tuple[bytes, ...], bool]
"""Literals (lower case) to look for, and whether they are heads."""


def make_table(needs: Needs) -> Table:
    """The table for logs of which nothing is known."""
    chosen = [_texts(need, plain_price) for need in needs]
    return _table(chosen, shared_windows({text for texts, _ in chosen for text in texts}))


def chosen_of(table: Table) -> list[Texts]:
    """The literals that a table looks for, for each unit."""
    found: list[list[bytes]] = [[] for _ in range(table.units)]
    for entries in table.entries:
        for entry in entries:
            for number in entry.units:
                found[number].append(entry.literal)
    return [(tuple(texts), number in table.heads) for number, texts in enumerate(found)]


def make_table_for(
    table: Table, need: Callable[[int], Need | None], sample: bytes, counts: Mapping[bytes, int]
) -> tuple[Table, dict[int, int]]:
    """`table` for a log of which `sample` is a part: what is frequent there is avoided.

    `counts` tells how often the table's windows occur in the sample. Also gives the units whose windows are frequent all
    the same, with their counts.
    """
    chosen = chosen_of(table)
    windows = {entry.literal: window for window, group in zip(table.windows, table.entries) for entry in group}  # noqa: B905 (one entry for each window)
    grams = _Grams(sample)
    window_of = dict(windows)
    shared = {window for window in windows.values() if not in_ordinary(window) and counts.get(window, 0) < HOT}
    known: dict[bytes, int] = {}

    def heat(literal: bytes) -> int:
        """How often the best window of a literal occurs."""
        found = known.get(literal)
        if found is None:
            window = window_of.get(literal) or _any_window(literal, shared)
            window_of[literal] = window
            found = counts[window] if window in counts else grams.count(window)
            if found >= HOT and len(literal) > WINDOW:
                window_of[literal], found = grams.coldest(literal)
            known[literal] = found
        return found

    def price(text: str) -> float:
        return min(plain_price(text), _SHORT.get(len(text), 2.0)) + heat(text.encode().lower())

    hot: dict[int, int] = {}
    for number, (texts, _) in enumerate(chosen):
        if any(counts.get(windows[text], 0) >= HOT for text in texts) and sum(map(heat, texts)) >= HOT:
            chosen[number] = _texts(need(number), price)
            left = sum(map(heat, chosen[number][0]))
            if left >= HOT:
                hot[number] = left
    return _table(chosen, window_of), hot


class _Grams:
    """How often texts of WINDOW bytes occur in a sample (in lower case), to be asked for thousands of them."""

    def __init__(self, sample: bytes) -> None:
        self._low = sample[:COUNTED].lower()
        self._scale = max(1, round(len(sample) / max(1, len(self._low))))
        self._counts: Counter[bytes] | None = None

    def count(self, window: bytes) -> int:
        if len(window) != WINDOW:
            return self._low.count(window) * self._scale
        if self._counts is None:
            low = self._low
            self._counts = Counter(low[at : at + WINDOW] for at in range(len(low) - WINDOW + 1))
        return self._counts.get(window, 0) * self._scale

    def coldest(self, literal: bytes) -> tuple[bytes, int]:
        """The part of a literal that is rarest, and how often it is there."""
        parts = [literal[at : at + WINDOW] for at in range(len(literal) - WINDOW + 1)]
        counts = [self.count(part) for part in parts]
        least = min(counts)
        return parts[counts.index(least)], least


def relieved(table: Table, gone: Set[int]) -> Table:
    """The table without some units; all windows and numbers stay."""
    entries = list(table.entries)
    for window, group in enumerate(entries):
        if any(not gone.isdisjoint(entry.units) for entry in group):
            left = [Entry(text, tuple(number for number in units if number not in gone)) for text, units in group]
            entries[window] = tuple(entry for entry in left if entry.units)
    everywhere = tuple(number for number in table.everywhere if number not in gone)
    return Table(table.windows, tuple(entries), everywhere, table.heads, table.units)


def restricted(table: Table, number_of: Mapping[int, int], count: int) -> Table:
    """The table for the units that have a new number in `number_of`, of `count` units."""
    windows, entries = [], []
    for window, group in zip(table.windows, table.entries):  # noqa: B905 (one entry for each window)
        left = [Entry(text, tuple(number_of[n] for n in units if n in number_of)) for text, units in group]
        left = [entry for entry in left if entry.units]
        if left:
            windows.append(window)
            entries.append(tuple(left))
    everywhere = tuple(number_of[number] for number in table.everywhere if number in number_of)
    heads = frozenset(number_of[number] for number in table.heads if number in number_of)
    return Table(tuple(windows), tuple(entries), everywhere, heads, count)


def joined(table: Table, other: Table) -> Table:
    """Both tables in one; the units of the other one come behind."""
    shift = table.units
    behind = dict(zip(table.windows, table.entries))  # noqa: B905 (one entry for each window)
    for window, group in zip(other.windows, other.entries):  # noqa: B905 (one entry for each window)
        moved = tuple(Entry(text, tuple(number + shift for number in users)) for text, users in group)
        behind[window] = (*behind.get(window, ()), *moved)
    everywhere = (*table.everywhere, *(number + shift for number in other.everywhere))
    heads = table.heads | {number + shift for number in other.heads}
    ordered = sorted(behind)
    entries = tuple(behind[window] for window in ordered)
    return Table(tuple(ordered), entries, everywhere, heads, table.units + other.units)


def _texts(need: Need | None, price: Callable[[str], float]) -> Texts:
    if need is None:
        return (), False
    literals = choose(need, price)
    return tuple(literal.text.encode().lower() for literal in literals), literals[0].head


def _table(chosen: Sequence[Texts], window_of: Mapping[bytes, bytes]) -> Table:
    users: dict[bytes, list[int]] = {}
    everywhere = []
    for number, (texts, _) in enumerate(chosen):
        if not texts:
            everywhere.append(number)
        for text in dict.fromkeys(texts):
            users.setdefault(text, []).append(number)
    behind: dict[bytes, list[Entry]] = {}
    for literal in sorted(users):
        behind.setdefault(window_of[literal], []).append(Entry(literal, tuple(users[literal])))
    windows = tuple(sorted(behind))
    heads = frozenset(number for number, (texts, head) in enumerate(chosen) if head and texts)
    return Table(windows, tuple(tuple(behind[window]) for window in windows), tuple(everywhere), heads, len(chosen))


def shared_windows(literals: Iterable[bytes]) -> dict[bytes, bytes]:
    """A window for each literal, as few different ones as a greedy choice finds: the fewer, the faster the search."""
    ordered = sorted(set(literals))
    found = {literal: literal for literal in ordered if len(literal) <= WINDOW}
    good = {literal for literal in found if len(literal) >= SHARED and not in_ordinary(literal)}
    left: dict[bytes, None] = {}
    for literal in ordered:
        if literal not in found:
            window = _known_window(literal, good)
            if window:
                found[literal] = window
            else:
                left[literal] = None
    users: dict[bytes, set[bytes]] = {}
    for literal in left:
        for at in range(len(literal) - WINDOW + 1):
            users.setdefault(literal[at : at + WINDOW], set()).add(literal)
    # A window that ordinary logs are full of serves only those that have no other.
    queue = [(in_ordinary(window), -len(group), window) for window, group in users.items()]
    heapq.heapify(queue)
    while left:
        common, size, window = heapq.heappop(queue)
        group = [literal for literal in users[window] if literal in left]
        if len(group) < -size:
            if group:
                heapq.heappush(queue, (common, -len(group), window))
            continue
        for literal in group:
            found[literal] = window
            del left[literal]
    return found


def _known_window(literal: bytes, windows: Container[bytes]) -> bytes | None:
    """One of `windows` that is a part of the literal."""
    for size in range(SHARED, WINDOW + 1):
        for at in range(len(literal) - size + 1):
            part = literal[at : at + size]
            if part in windows:
                return part
    return None


def _any_window(literal: bytes, windows: Container[bytes]) -> bytes:
    """A window for a literal that is new to a table."""
    return _known_window(literal, windows) or rarest(literal, WINDOW, ordinary_pairs())
