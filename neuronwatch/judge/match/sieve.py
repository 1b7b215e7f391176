"""A second, finer pass over the few lines of a big text that hold a window which is found often and for nothing.

A log may be full of "80%" or of one error: each such line costs microseconds in Python, and next to nothing where widened
expressions (superset.py) are tried on all of them together. What passes is looked at as before, so this changes the time of a
scan, never its result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hyperscan

from neuronwatch.judge.match import database as db
from neuronwatch.judge.match.confirm import lines_of
from neuronwatch.judge.match.superset import Superset
from neuronwatch.judge.match.types import Buffer, Place

WORTH = 4_000
"""So many places cost as much as to make a sieve."""
OFTEN = 400
"""A window found so often is worth an expression."""
MOST_UNITS = 8
"""A window with more units behind it is not sieved."""
RARELY = 0.3
"""The share of a window's lines that may pass its expressions."""


class Load:
    """How often the windows of a big text were found since somebody last thought about a sieve."""

    def __init__(self) -> None:
        self._count: Counter[int] = Counter()
        self._total = 0
        self._tried: set[int] = set()

    def add(self, places: Sequence[Place]) -> bool:
        """Whether it is time to think about it."""
        self._total += len(places)
        if places:
            self._count.update([number for _, number in places])
        return self._total >= WORTH

    def frequent(self) -> list[int]:
        """The windows worth a sieve that were not tried before; begins anew."""
        found = [number for number, count in self._count.items() if count >= OFTEN and number not in self._tried]
        self._tried.update(found)
        self._count.clear()
        self._total = 0
        return found


def units_behind(behind: Mapping[bytes, tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(unit for numbers in behind.values() for unit in numbers))


class Sieve:
    """Replaces the places of some windows by those of the expressions that must be found too, numbered from `first`."""

    def __init__(self, windows: frozenset[int], behind: Mapping[bytes, tuple[int, ...]], database: Any, first: int) -> None:
        """`windows`: the numbers of those windows of `behind` that a table still has; `behind`: the units of each. The
        expressions in `database` are those of `units`."""
        self.windows = windows
        self.behind = behind
        self.units = units_behind(behind)
        self.database = database
        self._first = first

    def passed(self, places: list[Place], data: Buffer, start: int, end: int) -> list[Place]:
        """`places` by rising offset; so is what is given."""
        windows = self.windows
        caught = [place for place in places if place[1] in windows]
        if not caught:
            return places
        kept = [place for place in places if place[1] not in windows]
        found = matches(self.database, caught, data, start, end)
        if not found:
            return kept
        kept += [(at, self._first + number) for at, number in found]
        kept.sort()
        return kept


def matches(database: Any, places: Sequence[Place], data: Buffer, start: int, end: int) -> list[Place]:
    """Where in the lines of `places` the expressions of a database are found."""
    starts, texts = lines_of(places, data, start, end)
    found: list[Place] = []
    add: Callable[[Place], None] = found.append

    def matched(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
        add((to - 1, number))

    database.scan(b"\n".join(texts), match_event_handler=matched)
    if not found:
        return found
    begins: list[int] = []
    at = 0
    for text in texts:
        begins.append(at)
        at += len(text) + 1
    made: list[Place] = []
    for to, number in found:
        index = max(0, bisect_right(begins, to) - 1)
        made.append((starts[index] + to - begins[index], number))
    return made


def rare(
    load: Load, behind: Callable[[int], Sequence[int]], expression: Callable[[int], Superset | None],
    places: Sequence[Place], data: Buffer, start: int, end: int,
) -> dict[int, tuple[int, ...]]:  # fmt: skip
    """Of the frequent windows those (with the units behind them) whose lines in `data` mostly do not pass. `behind` gives the
    units of a window, `expression` the widened expression of a unit."""
    good: dict[int, tuple[int, ...]] = {}
    for window in load.frequent():
        units = tuple(behind(window))
        items = [expression(unit) for unit in units] if 0 < len(units) <= MOST_UNITS else [None]
        mine = [place for place in places if place[1] == window]
        known = [item for item in items if item is not None]
        if not mine or len(known) < len(items):
            continue
        try:
            passed = matches(db.build((), known), mine, data, start, end)
        except hyperscan.error:  # an expression is too much for it
            continue
        if len({at for at, _ in passed}) <= RARELY * len(mine):
            good[window] = units
    return good
