"""From bytes to `Line`s: decoding, launcher prefixes, line numbers, cutting around a match."""

from __future__ import annotations

from neuronwatch.judge.match.confirm import line_text
from neuronwatch.judge.match.types import Buffer
from neuronwatch.model.records import MAX_TEXT
from neuronwatch.parse.api import Line
from neuronwatch.parse.prefix import peel

OFFSET_BASE = 1 << 60
"""Line numbers at or above this are byte offsets of a line's start that nobody has counted yet (`numbering.resolve`). They
sort like line numbers, so all that is ordered by line stays ordered."""


def make_line(path: str, number: int, data: Buffer) -> Line:
    """The line with the bytes `data` (without its end)."""
    text = line_text(data)
    body, rank, time, host = peel(text)
    return Line(path, number, text, body, rank, time, host)


def cut_around(line: Line, low: int, high: int) -> Line:
    """`line` with at most MAX_TEXT characters, among them those of the match `text[low:high]` as far as they fit."""
    if len(line.text) <= MAX_TEXT:
        return line
    begin = max(0, min(low - (MAX_TEXT - min(high - low, MAX_TEXT)) // 2, len(line.text) - MAX_TEXT))
    text = line.text[begin : begin + MAX_TEXT]
    return line._replace(text=text, body=text if begin else line.body[:MAX_TEXT])


class Counter:
    """1-based line numbers of offsets in a buffer that moves along a source. Asked mostly in rising order."""

    def __init__(self, exact: bool, first: int = 1) -> None:
        self.exact = exact
        self._place = 0
        self._number = first

    def number(self, data: Buffer, base: int, offset: int) -> int:
        """The number of the line at `offset`; `data[0]` is at `base`. Exact counting needs every offset between two
        calls to be in the buffer (see `advance`)."""
        if not self.exact:
            return OFFSET_BASE + offset
        if offset >= self._place:
            self._number += data.count(b"\n", max(0, self._place - base), offset - base)  # holes have no lines
        else:
            self._number -= data.count(b"\n", offset - base, self._place - base)
        self._place = offset
        return self._number

    def skip(self, lines: int) -> None:
        """So many lines, which have no offsets, are left out behind the last offset."""
        self._number += lines

    def advance(self, data: Buffer, base: int, offset: int) -> None:
        """To be called before the bytes up to `offset` leave the buffer."""
        if self.exact:
            self.number(data, base, offset)
