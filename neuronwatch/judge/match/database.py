"""Hyperscan databases: of windows (plain texts, compiled in milliseconds) and of widened expressions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import hyperscan

from neuronwatch.judge.match.superset import Superset

PADDED = 850
"""Below about 800 literals Hyperscan's literal matcher takes strides that are slow for windows of 5 to 8 bytes (measured: 0.7
against 2.5 GB/s); literals that no text holds lift it over that. Only for big inputs: they cost 20 ms to compile."""

_CONTROLS = bytes(range(0x0E, 0x1A))


def version() -> str:
    return str(getattr(hyperscan, "__version__", ""))


def build(windows: Sequence[bytes], widened: Sequence[Superset] = (), padded: int = 0, top: int = 0) -> Any:
    """Finds window number i (whatever the case) as id i, widened expression number j as id len(windows) + j. Padding has the
    id behind them, or `top` where that is higher. Raises hyperscan.error for an expression that is too much for it.

    One database for both: the literals of the expressions then cost next to nothing, alone they would cost as much as all
    windows together. But it takes long to compile: see `Both`.
    """
    wanted = max(padded - len(windows), 0 if windows else 1)
    texts = [*windows, *map(_padding, range(wanted))]
    flags = [hyperscan.HS_FLAG_CASELESS] * len(texts)
    behind = len(windows) + len(widened)
    ids = [*range(len(windows)), *[max(top, behind)] * wanted, *range(len(windows), behind)]
    if widened:
        texts = [b"".join(b"\\x%02x" % byte for byte in text) for text in texts] + [item.expression for item in widened]
        # Chunks begin and end with whole lines, so ^ and $ mean what they say.
        flags += [hyperscan.HS_FLAG_MULTILINE | (hyperscan.HS_FLAG_CASELESS if item.fold else 0) for item in widened]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=texts, ids=ids, flags=flags, literal=not widened)
    database.scratch = hyperscan.Scratch(database)
    return database


class Both:
    """Windows and widened expressions in a database each, with the ids of `build`. This takes half as long again to search
    as one database for both, a quarter of the time to compile, and a hundredth of the memory. Places come out of order."""

    def __init__(self, windows: Any, widened: Any, first: int) -> None:
        """`first`: the id of the first widened expression."""
        self._windows, self.widened, self._first = windows, widened, first

    def scan(self, text: bytes | memoryview, match_event_handler: Callable[[int, int, int, int, object], object]) -> None:
        first = self._first

        def widened(number: int, begin: int, end: int, flags: int, context: object) -> None:
            match_event_handler(first + number, begin, end, flags, context)

        self._windows.scan(text, match_event_handler=match_event_handler)
        self.widened.scan(text, match_event_handler=widened)


def load(data: bytes) -> Any:
    """A database that was built by the same version for the same kind of processor; else raises hyperscan.error."""
    database = hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK)
    database.scratch = hyperscan.Scratch(database)
    return database


def _padding(number: int) -> bytes:
    """A text of control characters, a different one for each number."""
    mixed = number * 2654435761 % (1 << 32)
    return bytes(_CONTROLS[(mixed >> shift) % len(_CONTROLS)] for shift in range(0, 32, 4))


def compiles(item: Superset) -> bool:
    try:
        build((), (item,))
    except hyperscan.error:
        return False
    return True


def count(database: Any, text: bytes | memoryview, most: int) -> int:
    """How often anything is found, counted up to `most`."""
    seen = 0

    def found(_number: int, _from: int, _to: int, _flags: int, _context: object) -> bool:
        nonlocal seen
        seen += 1
        return seen >= most

    with contextlib.suppress(hyperscan.ScanTerminated):
        database.scan(text, match_event_handler=found)
    return seen


def tally(database: Any, text: bytes | memoryview, top: int) -> dict[int, int]:
    """How often each id below `top` is found. `database` may be in use in another thread."""
    counts: dict[int, int] = {}
    get = counts.get

    def found(number: int, _from: int, _to: int, _flags: int, _context: object) -> None:
        counts[number] = get(number, 0) + 1

    database.scan(text, match_event_handler=found, scratch=hyperscan.Scratch(database))
    return {number: count for number, count in counts.items() if number < top}
