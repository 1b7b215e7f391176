"""Rows as text for a terminal or a file, without Textual: `top --once`."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.tui.draw.row import Row
from neuronwatch.tui.theme import Theme, look

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def text(rows: Iterable[Row], theme: Theme | None) -> str:
    """Lines; `theme` None: no escapes at all. Blanks at the ends of lines are left out."""
    return "".join(_line(row, theme) + "\n" for row in rows)


def _line(row: Row, theme: Theme | None) -> str:
    if theme is None:
        return "".join(part.text for part in row).rstrip()
    return "".join(f"\x1b[{_codes(theme, part.style)}m{part.text}\x1b[0m" if part.style else part.text for part in row).rstrip()


def _codes(theme: Theme, words: str) -> str:
    found = look(theme, words)
    codes = [number for number, on in ((1, found.bold), (2, found.dim), (4, found.underline), (7, found.reverse)) if on]
    return ";".join([*map(str, codes), *_colour(found.colour, 38), *_colour(found.ground, 48)])


def _colour(name: str, base: int) -> list[str]:
    if not name:
        return []
    if name.startswith("#"):
        return [str(base), "2", *(str(int(name[at : at + 2], 16)) for at in (1, 3, 5))]
    bright = name.startswith("bright_")
    return [str(base - 8 + _NAMES.index(name.removeprefix("bright_")) + 60 * bright)]
