from __future__ import annotations

import contextlib
import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.store import block as blocks
from neuronwatch.store.block import Block, Damaged, Record

NUMBERS = st.one_of(
    st.integers(-5, 5), st.integers(0, 1000), st.integers(-blocks.LARGEST, blocks.LARGEST), st.just(2**31), st.just(-(2**31) - 1)
)


@st.composite
def records(draw):
    names = [f"nd{index}" for index in range(draw(st.integers(1, 4)))]
    rows, tick = [], draw(st.integers(0, 2**36))
    for _ in range(draw(st.integers(1, 12))):
        shape = tuple(draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
        numbers = array("q", [draw(NUMBERS) for _ in shape])
        reasons = tuple(draw(st.sampled_from(["", "", "gone", 'a "quoted" ü \x00'])) for _ in shape)
        rows.append(Record(tick, shape, numbers, reasons if any(reasons) else None))
        tick += draw(st.integers(0, 100))
    return rows


@given(records())
def test_what_goes_in_comes_out(rows):
    entities = blocks.shape_of(rows)
    block = blocks.gather(rows, entities)
    again = blocks.decode(blocks.encode(block))
    assert again == block
    some = blocks.decode(blocks.encode(block), [0, 99])
    assert some.columns[0] == block.columns[0] and all(not column for column in some.columns[1:])
    absent = {(item.column, row): item.reason for item in again.absences for row in range(item.first, item.last + 1)}
    for number, row in enumerate(rows):
        for column, entity in enumerate(entities):
            if entity not in row.entities:
                assert absent[column, number] == "not read"
                continue
            at = row.entities.index(entity)
            if row.reasons is not None and row.reasons[at]:
                assert absent[column, number] == row.reasons[at]
            else:
                assert (column, number) not in absent and again.columns[column][number] == row.numbers[at]


@given(records())
def test_statistics_are_those_of_what_is_present(rows):
    entities = blocks.shape_of(rows)
    block = blocks.gather(rows, entities)
    shown = blocks.stats(block, 0.5, "d")
    for column, entity in enumerate(entities):
        present = [
            row.numbers[row.entities.index(entity)] * 0.5
            for row in rows
            if entity in row.entities and not (row.reasons and row.reasons[row.entities.index(entity)])
        ]
        if not present:
            assert math.isnan(shown.low[column]) and math.isnan(shown.high[column]) and math.isnan(shown.mean[column])
            continue
        assert shown.low[column] == min(present) and shown.high[column] == max(present)
        assert shown.mean[column] == pytest.approx(sum(present) / len(present), rel=1e-9, abs=1e-6)


@given(records(), st.data())
def test_damage_is_noticed(rows, data):
    good = blocks.encode(blocks.gather(rows, blocks.shape_of(rows)))
    bad = bytearray(good)
    if data.draw(st.booleans()):
        del bad[data.draw(st.integers(0, len(bad) - 1)) :]
    else:
        bad[data.draw(st.integers(0, len(bad) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(Damaged):
        assert blocks.decode(bytes(bad)) == blocks.decode(good)  # a byte without meaning, in zstd's own header


@given(st.binary(max_size=200))
def test_any_bytes(data):
    import zstandard

    for candidate in (data, zstandard.compress(data), zstandard.compress(b"nwb1" + data)):
        with pytest.raises(Damaged):
            blocks.decode(candidate)


def test_a_bomb_is_not_unpacked():
    import zstandard

    with pytest.raises(Damaged):
        blocks.decode(zstandard.compress(bytes(blocks.MAX_BYTES + 1)))


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError):
        blocks.encode(Block(array("q", [1]), [array("q", [blocks.LARGEST + 1])], []))
    numbers, fits = blocks.quantise([1.0, float("nan"), 1e30], 0.1)
    assert list(numbers) == [10, 0, 0] and not fits
    assert blocks.quantise([0.25, 0.35], 0.1) == (array("q", [2, 4]), True) or blocks.quantise([0.2], 0.1)[0][0] == 2


@pytest.mark.parametrize("kind", ["flat", "slow", "noise", "together"])
def test_ordinary_columns_are_small(kind):
    """Bits for each number: a state that stays costs nothing, noise of four bits not much more than four."""
    import random

    chance = random.Random(7)
    load = [chance.randrange(1000) for _ in range(300)]
    make = {
        "flat": lambda column, row: 5000 + column,
        "slow": lambda column, row: 5000 + row // 10 * column,
        "noise": lambda column, row: 500 + chance.randrange(16),
        "together": lambda column, row: load[row] + column % 2,
    }[kind]
    columns = [array("q", [make(column, row) for row in range(300)]) for column in range(64)]
    size = len(blocks.encode(Block(array("q", range(300)), columns, [])))
    assert size * 8 / (64 * 300) < {"flat": 0.1, "slow": 0.5, "noise": 4.3, "together": 1.2}[kind]
