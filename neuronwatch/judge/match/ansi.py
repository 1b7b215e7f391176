"""Lines with ANSI escapes: an escape in the middle of a literal hides it from a search in the raw bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from neuronwatch.judge.match.confirm import line_text
from neuronwatch.judge.match.types import PIECE, Buffer, Hit


def _lines(buffer: Buffer, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines that hold an escape. No expression: `[^\\n]*ESC` looks at a line of a megabyte from each of its bytes."""
    low, at = start, buffer.find(b"\x1b", start, end)
    while at >= 0:
        low = max(buffer.rfind(b"\n", low, at) + 1, buffer.rfind(b"\r", low, at) + 1, low)
        high = buffer.find(b"\n", at, end)
        high = end if high < 0 else high
        cut = buffer.find(b"\r", at, high)
        high = high if cut < 0 else cut
        yield low, high
        low, at = high, buffer.find(b"\x1b", high, end)


def add_hidden(hits: list[Hit], buffer: Buffer, base: int, start: int, end: int, scan: Callable[[bytes], list[Hit]]) -> list[Hit]:
    """`hits` with those that `scan` finds in the lines with escapes once these are gone."""
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    clean = bytearray()
    for low, high in _lines(buffer, start, end):
        if high - low <= PIECE:
            starts.append(len(clean))
            spans.append((low, high))
            clean += line_text(buffer[low:high]).replace("\n", " ").replace("\r", " ").encode() + b"\n"
    if not starts:
        return hits
    merged = set(hits)
    for hit in scan(bytes(clean)):
        low, high = spans[bisect_right(starts, hit.line_start) - 1]
        merged.add(Hit(hit.pattern_id, base + low, base + high))
    return sorted(merged, key=lambda hit: (hit.line_start, hit.line_end, hit.pattern_id))
