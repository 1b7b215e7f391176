"""Hyperscan databases: of windows (plain texts, compiled in milliseconds) and of widened expressions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import hyperscan

from neuronwatch.judge.match.superset import Superset

PADDED = 850
"""Below about 800 literals Hyperscan's literal matcher takes strides that are slow for windows of 5 to 8 bytes (measured: 0.7
against 2.5 GB/s); literals that no text holds lift it over that. Only for big inputs: they cost 20 ms to compile."""

_CONTROLS = bytes(range(0x0E, 0x1A))


def version() -> str:
    return str(getattr(hyperscan, "__version__", ""))


def of_windows(windows: Sequence[bytes], padded: int = 0) -> Any:
    """Finds window number i (whatever the case) as id i. Padding has the id len(windows)."""
    wanted = max(padded - len(windows), 0 if windows else 1)
    rng = random.Random(1)
    expressions = [*windows, *(bytes(rng.choice(_CONTROLS) for _ in range(8)) for _ in range(wanted))]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=expressions, ids=[*range(len(windows)), *[len(windows)] * wanted],
        flags=hyperscan.HS_FLAG_CASELESS, literal=True,
    )  # fmt: skip
    database.scratch = hyperscan.Scratch(database)
    return database


def of_widened(expressions: Sequence[Superset]) -> Any:
    """Finds expression number i as id i. Raises hyperscan.error for what is too much for it."""
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[item.expression for item in expressions], ids=list(range(len(expressions))),
        flags=[_flags(item) for item in expressions],
    )  # fmt: skip
    database.scratch = hyperscan.Scratch(database)
    return database


def compiles(item: Superset) -> bool:
    try:
        of_widened((item,))
    except hyperscan.error:
        return False
    return True


def tally(database: Any, text: bytes | memoryview, top: int) -> dict[int, int]:
    """How often each id below `top` is found."""
    counts: dict[int, int] = {}
    get = counts.get

    def found(number: int, _from: int, _to: int, _flags: int, _context: object) -> None:
        counts[number] = get(number, 0) + 1

    database.scan(text, match_event_handler=found)
    return {number: count for number, count in counts.items() if number < top}


def _flags(item: Superset) -> int:
    # Chunks begin and end with whole lines, so ^ and $ mean what they say.
    return int(hyperscan.HS_FLAG_MULTILINE | (hyperscan.HS_FLAG_CASELESS if item.fold else 0))
