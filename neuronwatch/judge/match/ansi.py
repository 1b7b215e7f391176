"""Lines with ANSI escapes: an escape in the middle of a literal hides it from a search in the raw bytes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from neuronwatch.judge.match.confirm import line_text
from neuronwatch.judge.match.types import PIECE, Buffer, Hit

_LINE = re.compile(rb"[^\r\n]*\x1b[^\r\n]*")


def add_hidden(hits: list[Hit], buffer: Buffer, base: int, start: int, end: int, scan: Callable[[bytes], list[Hit]]) -> list[Hit]:
    """`hits` with those that `scan` finds in the lines with escapes once these are gone."""
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    clean = bytearray()
    for found in _LINE.finditer(buffer, start, end):
        low, high = found.span()
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
