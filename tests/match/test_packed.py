"""The packed form of a table says the same as the table; anything else in its place is refused, never believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.packed import packed, unpacked, used
from neuronwatch.judge.match.table import Entry, Table, relieved

NUMBERS = st.lists(st.integers(0, 2**32 - 1), max_size=4).map(tuple)
ENTRIES = st.builds(Entry, st.binary(max_size=12), NUMBERS)
UNITS = st.lists(st.builds(Unit, st.text(st.characters(), max_size=12), NUMBERS), max_size=6)


@st.composite
def tables(draw):
    units = draw(UNITS)
    windows = tuple(draw(st.lists(st.binary(max_size=8), max_size=6)))
    entries = tuple(tuple(draw(st.lists(ENTRIES, max_size=3))) for _ in windows)
    return units, Table(windows, entries, draw(NUMBERS), frozenset(draw(NUMBERS)), len(units))


@given(tables())
def test_what_is_packed_comes_back(made):
    units, table = made
    again, same = unpacked(packed(units, table))
    assert list(again) == units
    assert (tuple(same.windows), tuple(same.entries)) == (table.windows, table.entries)
    assert same[2:] == table[2:]
    assert used(same.entries) == used(table.entries) == [bool(group) for group in table.entries]
    assert relieved(same, {0}) == relieved(table, {0})._replace(windows=same.windows)


@given(tables(), st.data())
def test_a_table_that_is_cut_or_longer_is_refused(made, data):
    whole = packed(*made)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for bad in (whole[:cut], whole + b"x"):
        with pytest.raises((ValueError, TypeError, IndexError)):
            unpacked(bad)


def test_items_are_asked_for_as_of_any_sequence():
    units, table = [Unit("a|b", (1, 2)), Unit("é\udc80", ())], Table((b"a",), ((),), (), frozenset(), 2)
    again, _ = unpacked(packed(units, table))
    assert again[-1] == units[1]
    assert again[0:1] == units[:1]
    with pytest.raises(IndexError):
        again[2]
