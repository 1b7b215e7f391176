"""One block of history: rows of whole numbers (a value divided by its metric's resolution) as one zstd frame.

    zstd( header | times | levels | planes | absences )

The numbers stand column by column (an entity's, then the next entity's). Three ways to make them small are tried on some
columns and the smallest is taken: differences along time (what moves slowly), the distance from the middle of the column
(noise around a level), differences between neighbours in a row (cores that move together). What remains is cut into byte
planes: nearly all is in the lowest, the others are zeros. An absent cell repeats the number before it and is named in
`absences`.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import sub
from typing import NamedTuple

import zstandard

from neuronwatch.store.frames import NAN, NOT_READ, floats

TICK = 0.1
"""Seconds: the resolution of a row's time."""
MAX_CELLS = 4_000_000
MAX_BYTES = 64 * 1024 * 1024
LARGEST = 10**18
"""Of a number in a block, so that differences fit into 64 bits."""

_HEADER = struct.Struct("<4sBIIIq")
_MAGIC = b"nwb1"
_TIME, _LEVEL, _NEIGHBOUR = 0, 1, 2
_BIAS = 128
_COMPRESSION = 6
_WORTH = 60
_SAMPLE = 16


class Damaged(Exception):
    """A block that cannot be read."""


class Absence(NamedTuple):
    """`column` has no value in the rows `first` to `last` (both included)."""

    column: int
    first: int
    last: int
    reason: str


class Record(NamedTuple):
    """A row as it is kept: `tick` is its time in TICKs since the epoch; a number whose reason is not "" is absent."""

    tick: int
    entities: tuple[str, ...]
    numbers: array[int]
    reasons: tuple[str, ...] | None


class Block(NamedTuple):
    """Rows sorted by time. `columns[i]` belongs to the i-th entity of the block's shape."""

    ticks: array[int]
    columns: list[array[int]]
    absences: list[Absence]


def shape_of(records: Sequence[Record]) -> tuple[str, ...]:
    """The entities of all rows, in the order in which they first came."""
    first = records[0].entities
    if all(record.entities is first for record in records):
        return first
    return tuple(dict.fromkeys(chain.from_iterable(record.entities for record in records)))


def gather(records: Sequence[Record], entities: tuple[str, ...]) -> Block:
    """The columns of rows sorted by time; `entities` as `shape_of` gave it."""
    width = len(entities)
    ticks = array("q", [record.tick for record in records])
    flat = array("q")
    absences: list[Absence] = []
    for number, record in enumerate(records):
        numbers, reasons = record.numbers, record.reasons
        if record.entities != entities:
            place = {entity: index for index, entity in enumerate(record.entities)}
            where = [place.get(entity) for entity in entities]
            reasons = tuple(NOT_READ if at is None else reasons[at] if reasons else "" for at in where)
            numbers = array("q", [0 if at is None else numbers[at] for at in where])
        flat.extend(numbers if numbers.typecode == "q" else array("q", numbers))
        if reasons is not None:
            absences.extend(Absence(column, number, number, reason) for column, reason in enumerate(reasons) if reason)
    columns = [flat[column::width] for column in range(width)]
    absences = _runs(absences)
    _fill(columns, absences)
    return Block(ticks, columns, absences)


def _runs(single: Iterable[Absence]) -> list[Absence]:
    """Absences of one row each, as runs, by column and row."""
    runs: list[Absence] = []
    for item in sorted(single):
        if runs and runs[-1][0] == item.column and runs[-1].last == item.first - 1 and runs[-1].reason == item.reason:
            runs[-1] = runs[-1]._replace(last=item.last)
        else:
            runs.append(item)
    return runs


def _fill(columns: list[array[int]], absences: Iterable[Absence]) -> None:
    """Puts the number before it (at the beginning the one after it) in place of what is absent."""
    for column, first, last, _ in absences:
        cells = columns[column]
        if first > 0:
            number = cells[first - 1]
        else:
            number = cells[last + 1] if last + 1 < len(cells) else 0
        cells[first : last + 1] = array("q", [number]) * (last + 1 - first)


def join(parts: Sequence[Block]) -> Block:
    """Blocks of one shape, one after the other in time, as one."""
    columns = [array("q", cells) for cells in parts[0].columns]
    ticks = array("q")
    absences: list[Absence] = []
    for number, part in enumerate(parts):
        if number:
            for column, cells in zip(columns, part.columns, strict=True):
                column.extend(cells)
        start = len(ticks)
        absences.extend(item._replace(first=item.first + start, last=item.last + start) for item in part.absences)
        ticks.extend(part.ticks)
    return Block(ticks, columns, _runs(absences))


def encode(block: Block) -> bytes:
    """The block as bytes. Numbers above LARGEST do not fit: ValueError."""
    ticks, columns, absences = block
    rows, width = len(ticks), len(columns)
    if not rows or not width or rows * width > MAX_CELLS:
        raise ValueError("a block has at least one row and column, and at most MAX_CELLS cells")
    flat = array("q", b"".join([column.tobytes() for column in columns]))
    if max(flat) > LARGEST or min(flat) < -LARGEST:
        raise ValueError("a number is too large for a block")
    told = json.dumps([list(item) for item in absences], separators=(",", ":")).encode() if absences else b""
    times = _planes(array("q", map(sub, ticks[1:], ticks)))
    compressor = zstandard.ZstdCompressor(level=_COMPRESSION, write_checksum=True, write_content_size=True)
    way = _best(columns, rows, compressor)
    levels, residues = _residues(way, flat, columns, rows)
    header = _HEADER.pack(_MAGIC, way, rows, width, len(told), ticks[0])
    return compressor.compress(header + times + levels.tobytes() + _planes(residues) + told)


def _best(columns: list[array[int]], rows: int, compressor: zstandard.ZstdCompressor) -> int:
    """The way that is smallest for the first columns. A few rows are not worth the question."""
    if rows < _WORTH:
        return _TIME
    some = columns[:_SAMPLE]
    flat = array("q", b"".join([column.tobytes() for column in some]))
    sizes = {}
    for way in (_TIME, _LEVEL, _NEIGHBOUR):
        levels, residues = _residues(way, flat, some, rows)
        sizes[way] = len(compressor.compress(_planes(residues))) + len(levels) * 2
    return min(sizes, key=lambda way: (sizes[way], way))


def _residues(way: int, flat: array[int], columns: list[array[int]], rows: int) -> tuple[array[int], array[int]]:
    """(levels, residues) of one way; `flat` is all columns one after the other."""
    if way == _LEVEL:
        levels = array("q", [(min(column) + max(column)) // 2 for column in columns])
        shifted = array("q")
        for column, level in zip(columns, levels, strict=True):
            shifted.extend(map((_BIAS - level).__add__, column))
        return levels, shifted
    if way == _NEIGHBOUR:
        turned = array("q", bytes(8 * len(flat)))
        for index, column in enumerate(columns):
            turned[index :: len(columns)] = column
        flat = turned
    return array("q"), _differences(flat)


def _differences(numbers: array[int]) -> array[int]:
    """Each number minus the one before it, the first as it is; plus the bias, so that small ones of both signs fill only
    the lowest plane."""
    found = array("q", [numbers[0] + _BIAS])
    found.extend(map(_BIAS.__add__, map(sub, numbers[1:], numbers)))
    return found


def _planes(numbers: array[int]) -> bytes:
    """The lowest bytes of all numbers, then the second lowest, and so on."""
    raw = numbers.tobytes() if sys.byteorder == "little" else _swapped(numbers).tobytes()
    return b"".join([raw[plane::8] for plane in range(8)])


def _numbers(data: bytes) -> array[int]:
    """The opposite of `_planes`."""
    count = len(data) // 8
    raw = bytearray(count * 8)
    for plane in range(8):
        raw[plane::8] = data[plane * count : (plane + 1) * count]
    numbers = array("q", bytes(raw))
    return numbers if sys.byteorder == "little" else _swapped(numbers)


def _swapped(numbers: array[int]) -> array[int]:
    copy = array("q", numbers)
    copy.byteswap()
    return copy


def decode(data: bytes, only: Collection[int] | None = None) -> Block:
    """The block of `encode`. `only`: the columns that are wanted; the others come back empty. Raises Damaged for anything
    else."""
    try:
        return _decode(data, only)
    except (zstandard.ZstdError, struct.error, ValueError, OverflowError, MemoryError, KeyError, TypeError) as error:
        raise Damaged(str(error) or type(error).__name__) from error


def _decode(data: bytes, only: Collection[int] | None) -> Block:
    size = zstandard.frame_content_size(data)
    if not 0 < size <= MAX_BYTES:
        raise Damaged(f"a block of {size} bytes")
    raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_BYTES)
    magic, mode, rows, width, told, tick = _HEADER.unpack_from(raw)
    if magic != _MAGIC or not rows or not width or rows * width > MAX_CELLS:
        raise Damaged("not a block")
    sizes = (8 * (rows - 1), 8 * width if mode == _LEVEL else 0, 8 * rows * width, told)
    if _HEADER.size + sum(sizes) != len(raw):
        raise Damaged("a block of the wrong length")
    parts, at = [], _HEADER.size
    for part in sizes:
        parts.append(raw[at : at + part])
        at += part
    ticks = array("q", accumulate(chain([tick], _numbers(parts[0]))))
    wanted = range(width) if only is None else sorted(index for index in set(only) if 0 <= index < width)
    columns = [array("q")] * width
    for index, column in _columns(mode, rows, width, wanted, parts[1], parts[2]):
        columns[index] = column
    return Block(ticks, columns, [_absence(item, rows, width) for item in json.loads(parts[3])] if told else [])


def _columns(
    mode: int, rows: int, width: int, wanted: Iterable[int], levels: bytes, planes: bytes
) -> Iterator[tuple[int, array[int]]]:
    residues = _numbers(planes)
    if mode == _LEVEL:
        of_columns = array("q", levels)
        for index in wanted:
            level = of_columns[index] - _BIAS
            yield index, array("q", map(level.__add__, residues[rows * index : rows * (index + 1)]))
        return
    if mode not in (_TIME, _NEIGHBOUR):
        raise Damaged("a block of an unknown kind")
    sums = list(accumulate(residues))  # the bias was added to each: the k-th sum holds it k + 1 times
    for index in wanted:
        start, step = (rows * index, 1) if mode == _TIME else (index, width)
        places = range(start, start + rows * step, step)
        yield (
            index,
            array(
                "q",
                map(sub, sums[start : places[-1] + 1 : step], range(_BIAS * (start + 1), _BIAS * (places[-1] + 2), _BIAS * step)),
            ),
        )


def _absence(item: list[object], rows: int, width: int) -> Absence:
    column, first, last, reason = item
    if not (isinstance(column, int) and isinstance(first, int) and isinstance(last, int) and isinstance(reason, str)):
        raise Damaged("an absence of the wrong form")
    if not (0 <= column < width and 0 <= first <= last < rows):
        raise Damaged("an absence outside of the block")
    return Absence(column, first, last, reason)


class Stats(NamedTuple):
    """Per column the smallest, largest and mean value, NaN where nothing is present, and how many cells are."""

    low: array[float]
    high: array[float]
    mean: array[float]
    counts: array[int] | None
    """None: all rows of all columns are present."""


def stats(block: Block, step: float, code: str) -> Stats:
    """What is shown without decoding. `step` is the metric's resolution, `code` the array type of the result."""
    rows = len(block.ticks)
    if not block.absences and 1 < rows < _WORTH:
        return _short_stats(block, step, code)
    missing: dict[int, list[Absence]] = {}
    for item in block.absences:
        missing.setdefault(item.column, []).append(item)
    low, high, mean, counts = floats(code), floats(code), floats(code), array("I")
    for index, column in enumerate(block.columns):
        cells: Sequence[int] = column
        for item in reversed(missing.get(index, ())):
            cells = [*cells[: item.first], *cells[item.last + 1 :]]
        counts.append(len(cells))
        low.append(min(cells) * step if cells else NAN)
        high.append(max(cells) * step if cells else NAN)
        mean.append(sum(cells) / len(cells) * step if cells else NAN)
    return Stats(low, high, mean, None if all(count == rows for count in counts) else counts)


def _short_stats(block: Block, step: float, code: str) -> Stats:
    """The same for few rows without absences, row by row instead of column by column."""
    rows = list(zip(*block.columns, strict=True))
    share = step / len(rows)
    low = floats(code, map(step.__mul__, map(float, map(min, *rows))))
    high = floats(code, map(step.__mul__, map(float, map(max, *rows))))
    return Stats(low, high, floats(code, map(share.__mul__, map(float, map(sum, block.columns)))), None)


def quantise(values: Sequence[float], step: float) -> tuple[array[int], bool]:
    """Values as whole numbers of steps. False: some are NaN or too large for a block and are 0 here; the caller names them
    absent."""
    inverse = 1.0 / step
    try:
        numbers = array("q", [round(value * inverse) for value in values])
        if max(numbers) <= LARGEST and min(numbers) >= -LARGEST:
            return numbers, True
    except (ValueError, OverflowError):
        pass
    scaled = [value * inverse for value in values]
    return array("q", [round(value) if abs(value) <= LARGEST else 0 for value in scaled]), False
