"""Small parts of a text: what the places of windows cannot mean is dropped before any line is looked at.

Ordinary words that are a part of some literal are in every line of a log, the literals themselves in none. To ask for the
literals of all windows that were found costs as much as to look at a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuronwatch.judge.match.types import Buffer

MANY = 24
"""Places that make it worth asking,"""
SMALL = 64 * 1024
"""in parts up to so many bytes: in a larger one every literal is somewhere."""

Place = tuple[int, int]
"""The offset of a byte of a window, and the window's number."""


def possible(places: list[Place], buffer: Buffer, start: int, end: int, literals: Callable[[int], Sequence[bytes]]) -> list[Place]:
    """Those of `places` in `buffer[start:end]` whose window has one of its `literals` there."""
    if len(places) < MANY or end - start > SMALL:
        return places
    lowered = bytes(buffer[start:end]).lower()
    gone = {window for window in {number for _, number in places} if not any(literal in lowered for literal in literals(window))}
    return [place for place in places if place[1] not in gone] if gone else places
