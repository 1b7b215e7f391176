"""Units and their table in one text of bytes, as the cache keeps them: 0.3 MB where the same as objects takes 5 MB.

What is asked for is made then, and made again when it is asked for again: a scan needs little of it. Numbers are unsigned, of
4 bytes, in the order of this machine: a cache is of one machine, as the database beside it.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar, overload

from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.table import Entry, Table

_T = TypeVar("_T")
_COLUMNS = 10
_WIDTH = 4


class _Made(Sequence[_T], Generic[_T]):
    """A sequence whose items are made when they are asked for."""

    __slots__ = ()

    def _at(self, index: int) -> _T:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        size = len(self)
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(size))]
        if not -size <= index < size:
            raise IndexError(index)
        return self._at(index % size)


class _Lists(_Made[memoryview]):
    """Lists of something in one row: list number i is `items[bounds[i] : bounds[i + 1]]`."""

    __slots__ = ("_bounds", "_items")

    def __init__(self, bounds: memoryview, items: memoryview) -> None:
        if not len(bounds) or bounds[0] or bounds[-1] != len(items):
            raise ValueError("lists that do not fit their items")
        self._bounds, self._items = bounds, items

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def _at(self, index: int) -> memoryview:
        return self._items[self._bounds[index] : self._bounds[index + 1]]


class Windows(_Made[bytes]):
    __slots__ = ("_texts",)

    def __init__(self, texts: _Lists) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def _at(self, index: int) -> bytes:
        return bytes(self._texts[index])


class Units(_Made[Unit]):
    __slots__ = ("_ids", "_texts")

    def __init__(self, texts: _Lists, ids: _Lists) -> None:
        if len(texts) != len(ids):
            raise ValueError("a unit without patterns")
        self._texts, self._ids = texts, ids

    def __len__(self) -> int:
        return len(self._texts)

    def _at(self, index: int) -> Unit:
        return Unit(str(self._texts[index], "utf-8", "surrogatepass"), tuple(self._ids[index]))


class Entries(_Made[tuple[Entry, ...]]):
    """Of each window its literals, numbered from `firsts`."""

    __slots__ = ("_firsts", "_literals", "_users")

    def __init__(self, firsts: memoryview, literals: _Lists, users: _Lists) -> None:
        if not len(firsts) or firsts[0] or not firsts[-1] == len(literals) == len(users):
            raise ValueError("entries without their literals")
        self._firsts, self._literals, self._users = firsts, literals, users

    def __len__(self) -> int:
        return len(self._firsts) - 1

    def used(self) -> list[bool]:
        firsts = self._firsts.tolist()
        return [first != after for first, after in itertools.pairwise(firsts)]

    def _at(self, index: int) -> tuple[Entry, ...]:
        places = range(self._firsts[index], self._firsts[index + 1])
        return tuple([Entry(bytes(self._literals[place]), tuple(self._users[place])) for place in places])


def used(entries: Sequence[tuple[Entry, ...]]) -> list[bool]:
    """For each window whether any unit needs it."""
    return entries.used() if isinstance(entries, Entries) else [bool(group) for group in entries]


def packed(units: Sequence[Unit], table: Table) -> bytes:
    """Sizes of the columns, the columns, then all texts."""
    literals = [entry for group in table.entries for entry in group]
    texts = [unit.regex.encode("utf-8", "surrogatepass") for unit in units]
    sizes = [len(group) for group in table.entries]
    columns: list[array[int]] = [
        _bounds(map(len, texts)), _bounds(len(unit.ids) for unit in units), _row(n for unit in units for n in unit.ids),
        _bounds(map(len, table.windows)), _bounds(sizes), _bounds(len(entry.literal) for entry in literals),
        _bounds(len(entry.units) for entry in literals), _row(n for entry in literals for n in entry.units),
        _row(table.everywhere), _row(sorted(table.heads)),
    ]  # fmt: skip
    head = _row([table.units, *map(len, columns)])
    return b"".join(
        [*(part.tobytes() for part in (head, *columns)), *texts, *table.windows, *(entry.literal for entry in literals)]
    )


def unpacked(data: bytes) -> tuple[Units, Table]:
    """What `packed` made. Raises ValueError, TypeError or IndexError for anything else."""
    view = memoryview(data)
    count, *sizes = view[: _WIDTH * (_COLUMNS + 1)].cast("I")
    at = _WIDTH * (_COLUMNS + 1)
    columns: list[memoryview] = []
    for size in sizes:
        columns.append(view[at : at + _WIDTH * size].cast("I"))
        at += _WIDTH * size
    of_units, id_bounds, ids, of_windows, firsts, of_literals, user_bounds, users, everywhere, heads = columns
    texts: list[memoryview] = []
    for bounds in (of_units, of_windows, of_literals):
        texts.append(view[at : at + bounds[-1]])
        at += bounds[-1]
    if at != len(view):
        raise ValueError("a table of another length")
    units = Units(_Lists(of_units, texts[0]), _Lists(id_bounds, ids))
    entries = Entries(firsts, _Lists(of_literals, texts[2]), _Lists(user_bounds, users))
    windows = Windows(_Lists(of_windows, texts[1]))
    if len(units) != count or len(windows) != len(entries):
        raise ValueError("a table of other units")
    return units, Table(windows, entries, tuple(everywhere), frozenset(heads), count)


def _row(numbers: Iterable[int]) -> array[int]:
    row = array("I", numbers)
    if row.itemsize != _WIDTH:
        raise ValueError("this machine has other numbers")
    return row


def _bounds(sizes: Iterable[int]) -> array[int]:
    row, end = _row((0,)), 0
    for size in sizes:
        end += size
        row.append(end)
    return row
