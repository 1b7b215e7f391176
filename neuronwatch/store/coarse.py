"""Columns of long times, from the statistics of blocks alone: 24 hours of 128 cores are 288 rows of 3 x 128 numbers.

Nothing here goes cell by cell where nothing is absent: rows are put one after the other, several rows of one interval are merged by
`map` over all cells of all intervals at once, and an entity's column is a stride.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from operator import mul
from typing import NamedTuple

from neuronwatch.store.block import Damaged
from neuronwatch.store.frames import NAN, floats


class Column(NamedTuple):
    """Per interval, NaN where there is no value."""

    low: array[float]
    high: array[float]
    mean: array[float]


class Shown(NamedTuple):
    """A block's statistics in the order of the union of all shapes, as packed numbers of one code. `weights`: cells per column;
    None: each has `rows`, no cell is absent."""

    low: bytes
    high: bytes
    mean: bytes
    rows: int
    weights: Sequence[int] | None

    @classmethod
    def of(
        cls, stats: bytes, code: str, counts: bytes | None, rows: int, shape: tuple[str, ...], union: tuple[str, ...], wanted: str
    ) -> Shown:
        """`stats` as they are stored: the lowest, highest and mean values of a shape, in `code`. Raises Damaged."""
        width = len(shape)
        size = 8 if code == "d" else 4
        if code not in ("f", "d") or len(stats) != 3 * size * width:
            raise Damaged("statistics of the wrong length")
        weights = None if counts is None else array("I", counts)
        if weights is not None and len(weights) != width:
            raise Damaged("statistics of the wrong length")
        cut = size * width
        low, high, mean = stats[:cut], stats[cut : 2 * cut], stats[2 * cut :]
        if code == wanted and (shape is union or shape == union):
            return cls(low, high, mean, rows, weights)
        place = {entity: index for index, entity in enumerate(shape)}
        where = [place.get(entity) for entity in union]

        def moved(data: bytes) -> bytes:
            numbers = _numbers(data, code)
            return floats(wanted, [NAN if at is None else numbers[at] for at in where]).tobytes()

        known = [rows] * width if weights is None else weights
        return cls(moved(low), moved(high), moved(mean), rows, [0 if at is None else known[at] for at in where])


def _numbers(data: bytes, code: str) -> array[float]:
    numbers = floats(code)
    numbers.frombytes(data)
    return numbers


def coarse(together: list[list[Shown]], union: tuple[str, ...], wanted: Sequence[str], code: str) -> dict[str, Column]:
    """Columns of intervals, of which each has the blocks that belong to it."""
    empty = (floats(code, [NAN]) * len(union)).tobytes()
    rows: list[tuple[bytes, bytes, bytes]] = [(empty, empty, empty)] * len(together)
    alike: dict[int, list[int]] = {}
    """Number of blocks to the intervals that have so many, all of them whole."""
    for index, shown in enumerate(together):
        if len(shown) == 1:
            rows[index] = shown[0][:3]
        elif shown and all(item.weights is None for item in shown):
            alike.setdefault(len(shown), []).append(index)
        elif shown:
            rows[index] = _merged(shown, code)
    for count, indices in alike.items():
        for index, row in zip(indices, _at_once([together[index] for index in indices], count, code, len(empty)), strict=True):
            rows[index] = row
    flats = [_numbers(b"".join([row[part] for row in rows]), code) for part in range(3)]
    place = {entity: index for index, entity in enumerate(union)}
    nothing = floats(code, [NAN]) * len(rows)
    columns = {}
    for entity in wanted:
        at = place.get(entity)
        columns[entity] = Column(nothing, nothing, nothing) if at is None else Column(*(flat[at :: len(union)] for flat in flats))
    return columns


def _at_once(shown: list[list[Shown]], count: int, code: str, size: int) -> list[tuple[bytes, bytes, bytes]]:
    """Intervals of `count` blocks each, merged: the n-th blocks of all intervals are one long row."""
    lows = [_numbers(b"".join([item[number].low for item in shown]), code) for number in range(count)]
    highs = [_numbers(b"".join([item[number].high for item in shown]), code) for number in range(count)]
    width = size // (8 if code == "d" else 4)
    means = [_numbers(b"".join([item[number].mean for item in shown]), code) for number in range(count)]
    if all(block.rows == item[0].rows for item in shown for block in item):
        mean = floats(code, map((1.0 / count).__mul__, map(sum, zip(*means, strict=True)))).tobytes()
    else:
        mean = floats(code, map(sum, zip(*map(_weighed, _shares(shown, count, width), means), strict=True))).tobytes()
    low = floats(code, map(min, *lows)).tobytes()
    high = floats(code, map(max, *highs)).tobytes()
    return [(low[at : at + size], high[at : at + size], mean[at : at + size]) for at in range(0, len(low), size)]


def _shares(shown: list[list[Shown]], count: int, width: int) -> Iterator[array[float]]:
    """Of the n-th block in its interval, by its rows, for each cell."""
    for number in range(count):
        shares = floats("d")
        for item in shown:
            shares.extend(floats("d", [item[number].rows / sum(block.rows for block in item)]) * width)
        yield shares


def _weighed(shares: array[float], means: array[float]) -> Iterator[float]:
    return map(mul, shares, means)


def _merged(shown: list[Shown], code: str) -> tuple[bytes, bytes, bytes]:
    """Blocks of one interval as one, where cells are absent."""
    parts = [[_numbers(item[:3][part], code) for item in shown] for part in range(3)]
    width = len(parts[0][0])
    weights = [item.weights if item.weights is not None else [item.rows] * width for item in shown]
    lows, highs, means = floats(code), floats(code), floats(code)
    for cell in range(width):
        there = [number for number, weight in enumerate(weights) if weight[cell]]
        total = sum(weights[number][cell] for number in there)
        lows.append(min((parts[0][number][cell] for number in there), default=NAN))
        highs.append(max((parts[1][number][cell] for number in there), default=NAN))
        means.append(sum(parts[2][number][cell] * weights[number][cell] for number in there) / total if total else NAN)
    return lows.tobytes(), highs.tobytes(), means.tobytes()
