"""Styled text, wrapped at words, for the report at a terminal.

The report needs a few styles, wrapping and indents. Our own hundred lines are loaded in a millisecond; the library that
draws the dashboard takes thirty, which is felt when the whole diagnosis of a small directory takes five times that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BOLD, DIM, UNDERLINE, REVERSE = "1", "2", "4", "7"
BLACK, RED, GREEN, YELLOW, BLUE, CYAN, WHITE = "30", "31", "32", "33", "34", "36", "37"
ON_RED, ON_GREEN, ON_YELLOW, ON_BLUE = "41", "42", "43", "44"
"""Codes of ANSI's "select graphic rendition"; a style is some of them, joined by `;`."""

_WORD = re.compile(r"\s*\S+\s*")


class Text:
    """One line of text in pieces with a style each; `style` is the style of all of it."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.plain = text
        self._style = style
        self._ends = [(len(text), style)]

    def append(self, text: str, style: str = "") -> None:
        self.plain += text
        self._ends.append((len(self.plain), self._style if style in ("", self._style) else f"{self._style};{style}".lstrip(";")))

    def drawn(self, start: int, end: int, colour: bool) -> str:
        """The part `[start:end]`, with the codes of its styles if `colour`."""
        if not colour:
            return self.plain[start:end]
        parts = []
        at = start
        for stop, style in self._ends:
            if at < min(stop, end):
                part = self.plain[at : min(stop, end)]
                parts.append(f"\x1b[{style}m{part}\x1b[0m" if style else part)
                at = min(stop, end)
        return "".join(parts)


class Page:
    """Lines of at most `width` cells, one text below the other."""

    def __init__(self, width: int, colour: bool) -> None:
        self.colour = colour
        self._width = width
        self._lines: list[str] = []

    def put(self, text: Text | None = None, indent: int = 0, bullet: str = "") -> None:
        """Adds a text (none: an empty line), indented; with a bullet in front of its first line the others hang."""
        if text is None:
            self._lines.append("")
            return
        lead = " " * indent
        behind = " " * (indent + len(bullet) + 1) if bullet else lead
        if bullet:
            lead += Text(bullet, DIM).drawn(0, len(bullet), self.colour) + " "
        for start, end in wrapped(text.plain, self._width - len(behind)):
            self._lines.append(lead + text.drawn(start, end, self.colour))
            lead = behind

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._lines) + "\n"


def wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a text begin and end that is wrapped at words, and in words that are longer than a line."""
    size = len if text.isascii() else _cells
    start = used = 0
    for word in _WORD.finditer(text):
        begin, length = word.start(), size(word.group().rstrip())
        if length <= width - used:
            used += size(word.group())
            continue
        if begin:
            yield start, _end(text, start, begin, width)
            start = begin
        if length <= width:
            used = size(word.group())
            continue
        pieces = _chopped(word.group(), width)
        for piece in pieces[:-1]:
            yield start, start + len(piece)
            start += len(piece)
        used = size(pieces[-1])
    yield start, _end(text, start, len(text), width)


def _end(text: str, start: int, end: int, width: int) -> int:
    """Without the blanks that stand out of the line."""
    size = len if text.isascii() else _cells
    while end > start and text[end - 1].isspace() and size(text[start:end]) > width:
        end -= 1
    return end


def _chopped(word: str, width: int) -> list[str]:
    if word.isascii():
        return [word[at : at + width] for at in range(0, len(word), width)]
    from rich.cells import chop_cells  # it knows how wide a terminal draws each character

    return list(chop_cells(word, width))


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return int(cell_len(text))
