"""The marks of the screen, for terminals with Unicode and without."""

from __future__ import annotations

from typing import NamedTuple


class Glyphs(NamedTuple):
    """`levels`: from empty to full, for columns; `shades`: the parts of a bar, so that classes differ without colour."""

    levels: str
    full: str
    empty: str
    shades: str
    ok: str
    warning: str
    fault: str
    unknown: str
    idle: str
    free: str
    stale: str
    bar: str
    rule: str
    cursor: str
    up: str
    down: str
    dot: str
    more: str
    branch: str
    braille: bool = False
    """Whether the terminal has characters of braille: eight dots in a cell, for curves."""


UNICODE = Glyphs(" ▁▂▃▄▅▆▇█", "█", "·", "█▓▒░▪", "✓", "!", "✗", "?", "○", "·", "~", "│", "─", "▸", "▲", "▼", "•", "…", "└", True)
ASCII = Glyphs(" .:-=+*#@", "#", ".", "#%=:o", "+", "!", "X", "?", "o", ".", "~", "|", "-", ">", "^", "v", "*", "~", "`-")


def level(glyphs: Glyphs, share: float) -> str:
    """The column of a share from 0 to 1. What is more than nothing is drawn as more than nothing."""
    top = len(glyphs.levels) - 1
    return glyphs.levels[min(top, max(1 if share > 0.004 else 0, round(share * top)))]
