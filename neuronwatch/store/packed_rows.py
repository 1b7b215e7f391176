"""Rows of the ring that are minutes old, packed: of most metrics one minute is like another, and nobody looks often."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.store.frames import floats

ROWS = 60
"""Rows that are packed together."""


class Frame(NamedTuple):
    """One metric at one moment: `values` in the order of `entities`, NaN where absent, then `reasons` says why."""

    time: float
    entities: tuple[str, ...]
    values: array[float]
    reasons: tuple[str, ...] | None


class Pack:
    """Frames of one shape. Bytes of equal weight of the numbers of one entity stand together, so that they pack well."""

    __slots__ = ("_data", "_reasons", "code", "entities", "newest", "times")

    def __init__(self, frames: Sequence[Frame]) -> None:
        """All frames have the same `entities`, and values of one type code."""
        self.entities = frames[0].entities
        self.code = frames[0].values.typecode
        self.times = array("d", [frame.time for frame in frames])
        self.newest = max(self.times)
        self._reasons = tuple(frame.reasons for frame in frames) if any(frame.reasons for frame in frames) else None
        rows = b"".join([frame.values.tobytes() for frame in frames])
        self._data = zlib.compress(_apart(_turned(rows, self.code, len(self.entities)), frames[0].values.itemsize), 1)

    def __len__(self) -> int:
        return len(self.times)

    def frames(self) -> Iterator[Frame]:
        columns = _together(zlib.decompress(self._data), floats(self.code).itemsize)
        flat = floats(self.code)
        flat.frombytes(columns)
        count = len(self.times)
        for index, time in enumerate(self.times):
            yield Frame(time, self.entities, flat[index::count], self._reasons[index] if self._reasons else None)


def _turned(rows: bytes, code: str, width: int) -> bytes:
    """Columns in place of rows of so many numbers."""
    flat = floats(code)
    flat.frombytes(rows)
    return b"".join([flat[index::width].tobytes() for index in range(width)])


def _apart(data: bytes, size: int) -> bytes:
    """The first bytes of all numbers, then the second ones, and so on."""
    return b"".join([data[index::size] for index in range(size)])


def _together(data: bytes, size: int) -> bytearray:
    found = bytearray(len(data))
    count = len(data) // size
    for index in range(size):
        found[index::size] = data[index * count : (index + 1) * count]
    return found
