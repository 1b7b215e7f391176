"""A row: spans of text with the names of their styles, counted in terminal cells. All text becomes harmless here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

_PLAIN = re.compile(r"[\x20-\x7e]*\Z")
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
MARK = "\N{SYMBOL FOR SUBSTITUTE FORM TWO}"
_PILED = re.compile(r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3,}")
"""More than two marks on one letter reach into the lines above and below."""
MAX_TEXT = 12_000
"""Characters of one span that are looked at: no line of a terminal is longer."""


class Span(NamedTuple):
    """`style`: a word of theme.py, several with blanks between them; "" is plain text."""

    text: str
    style: str = ""


Row = tuple[Span, ...]
"""One line of the screen."""


def safe(text: str) -> str:
    """One line without control, bidirectional and zero-width characters, which become marks; tabs become blanks."""
    if _PLAIN.match(text):
        return text
    shown = _CONTROL.sub(MARK, text[:MAX_TEXT].expandtabs(4))
    return _PILED.sub(MARK, MARK + shown[1:] if shown and unicodedata.combining(shown[0]) else shown)


@lru_cache(maxsize=4096)
def _wide(text: str) -> int:
    """Textual counts with the same function, so both agree on every character."""
    return cell_len(text)


def cells(text: str) -> int:
    """Columns that a safe text takes."""
    return len(text) if text.isascii() else _wide(text)


def cut(text: str, width: int, more: str = "…") -> str:
    """At most `width` cells of a safe text; `more` ends what was cut."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    room = max(0, width - cells(more))
    if text.isascii():
        return text[:room] + more[:width]
    used, kept = 0, []
    for c in text:
        used += cell_len(c)
        if used > room:
            break
        kept.append(c)
    return "".join(kept) + more[:width]


def fitted(text: object, width: int, right: bool = False) -> str:
    """A safe text of exactly `width` cells."""
    shown = cut(safe(str(text)), width)
    blanks = " " * (width - cells(shown))
    return blanks + shown if right else shown + blanks


def span(text: object, style: str = "") -> Span:
    return Span(safe(str(text)), style)


def row(*parts: Span | str) -> Row:
    """A row of spans and plain texts."""
    return tuple(part if isinstance(part, Span) else Span(safe(part)) for part in parts)


def width_of(spans: Iterable[Span]) -> int:
    return sum(cells(part.text) for part in spans)


def clipped(spans: Row, width: int) -> Row:
    """The row in exactly `width` cells: cut, or filled with blanks."""
    found: list[Span] = []
    left = width
    for part in spans:
        size = cells(part.text)
        if size > left:
            shown = cut(part.text, left)
            found.append(Span(shown, part.style))
            left -= cells(shown)
            break
        found.append(part)
        left -= size
    if left > 0:
        found.append(Span(" " * left, found[-1].style if found and found[-1].style.endswith("fill") else ""))
    return tuple(found)


def beside(left: Row, right: Row, width: int) -> Row:
    """`left` at the left end and `right` at the right end; where both do not fit, `right` gives way."""
    room = width - width_of(right) - 1
    if room < min(width_of(left), width // 2):
        return clipped(left, width)
    return (*clipped(left, room), Span(" "), *right)


def styled(spans: Row, style: str) -> Row:
    """The same row with a style added to each span (the line under the cursor)."""
    return tuple(Span(part.text, f"{part.style} {style}".strip()) for part in spans)


def in_ascii(spans: Row) -> Row:
    """The row for a terminal without Unicode, as wide as it was."""
    return tuple(part if part.text.isascii() else Span("".join(map(_in_ascii, part.text)), part.style) for part in spans)


def _in_ascii(c: str) -> str:
    return c if c.isascii() else "~" if c == "…" else "?" * cell_len(c)


def plain(spans: Row) -> str:
    return "".join(part.text for part in spans)
