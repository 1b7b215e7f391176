"""Lines as wide as the terminal: a longer one goes on below, indented. Where it is no terminal, lines stay whole (for grep)."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_WORD = re.compile(r"\s*\S+")
LEAST = 40
DEEPER = 4


def fit(lines: Iterable[str]) -> Iterator[str]:
    width = max(LEAST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 0
    for line in lines:
        yield from wrapped(line, width) if width else (line,)


def wrapped(line: str, width: int) -> Iterator[str]:
    """One line as several of at most `width` characters; colours take no room."""
    if _size(line) <= width:
        yield line
        return
    margin = " " * min(len(line) - len(line.lstrip(" ")) + DEEPER, width // 2)
    row = ""
    for word in _WORD.findall(line):
        if _size(row + word) > width and row.strip():
            yield row
            row, word = margin, word.lstrip()
        row += word
        while _size(row) > width:  # one word that is longer than a line; a word with colours is short
            yield row[:width]
            row = margin + row[width:]
    yield row


def _size(text: str) -> int:
    return len(_COLOUR.sub("", text))
