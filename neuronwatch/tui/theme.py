"""Colours of the style words. A theme is data: word to (colour, background, attributes).

The default is safe for the colour-blind: blue to orange for heat, no red against green; marks tell the states anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Look(NamedTuple):
    """`colour` and `ground`: `#rrggbb`, a name of the 16 colours (`red`, `bright_blue`), or "" for the terminal's own."""

    colour: str = ""
    ground: str = ""
    bold: bool = False
    dim: bool = False
    reverse: bool = False
    underline: bool = False


Theme = Mapping[str, Look]

_HEAT = ("#3b4c7a", "#3f6ea8", "#3d8fc0", "#52a9b8", "#9db668", "#d9b44a", "#ec9336", "#f2703a")
DARK: Theme = {
    "": Look("#d8dee9"),
    "dim": Look("#7f8aa0"),
    "title": Look("#eceff4", bold=True),
    "value": Look("#eceff4"),
    "key": Look("#88c0d0", bold=True),
    "tab": Look("#9aa5b8"),
    "chosen": Look("#ffffff", "#30507a", bold=True),
    "rule": Look("#56637a"),
    "spark": Look("#5e9fd6"),
    "cursor": Look(ground="#2b3750"),
    "match": Look("#101010", "#e8c15a"),
    "ok": Look("#59b8a6"),
    "info": Look("#81a1c1"),
    "warning": Look("#e8c15a", bold=True),
    "error": Look("#ff8552", bold=True),
    "critical": Look("#ffffff", "#b3312c", bold=True),
    "unknown": Look("#c79bd8", bold=True),
    "stale": Look("#a08bb0"),
    "fill": Look(reverse=True),
    "part0": Look("#5e9fd6"),
    "part1": Look("#59b8a6"),
    "part2": Look("#c7a84f"),
    "part3": Look("#a98bd0"),
    "part4": Look("#8891a5"),
    **{f"heat{n}": Look(colour) for n, colour in enumerate(_HEAT)},
}
LIGHT: Theme = {
    **DARK,
    "": Look("#1f2733"),
    "dim": Look("#68748a"),
    "title": Look("#000000", bold=True),
    "value": Look("#10151d"),
    "key": Look("#005f87", bold=True),
    "tab": Look("#4a5568"),
    "chosen": Look("#ffffff", "#30507a", bold=True),
    "rule": Look("#9aa5b8"),
    "cursor": Look(ground="#dbe6f5"),
    "ok": Look("#00786a"),
    "info": Look("#2f5f9e"),
    "warning": Look("#8a6100", bold=True),
    "error": Look("#b8400a", bold=True),
    "unknown": Look("#7b3fa0", bold=True),
    "stale": Look("#7c6a8a"),
}
SIXTEEN: Theme = {
    "": Look(),
    "dim": Look(dim=True),
    "title": Look(bold=True),
    "value": Look(),
    "key": Look("cyan", bold=True),
    "tab": Look(),
    "chosen": Look("bright_white", "blue", bold=True),
    "rule": Look(dim=True),
    "spark": Look("blue"),
    "cursor": Look(reverse=True),
    "match": Look("black", "yellow"),
    "ok": Look("cyan"),
    "info": Look("blue"),
    "warning": Look("yellow", bold=True),
    "error": Look("bright_red", bold=True),
    "critical": Look("bright_white", "red", bold=True),
    "unknown": Look("magenta", bold=True),
    "stale": Look("magenta", dim=True),
    "fill": Look(reverse=True),
    "part0": Look("blue"),
    "part1": Look("cyan"),
    "part2": Look("yellow"),
    "part3": Look("magenta"),
    "part4": Look("white"),
    "heat0": Look("blue"),
    "heat1": Look("blue"),
    "heat2": Look("cyan"),
    "heat3": Look("cyan"),
    "heat4": Look("yellow"),
    "heat5": Look("yellow"),
    "heat6": Look("bright_yellow"),
    "heat7": Look("bright_red"),
}
PLAIN: Theme = {
    "dim": Look(dim=True),
    "title": Look(bold=True),
    "key": Look(bold=True),
    "chosen": Look(reverse=True),
    "cursor": Look(reverse=True),
    "match": Look(reverse=True, underline=True),
    "warning": Look(bold=True),
    "error": Look(bold=True),
    "critical": Look(bold=True, reverse=True),
    "unknown": Look(underline=True),
    "stale": Look(dim=True),
    "fill": Look(reverse=True),
}
"""Without colour (NO_COLOR)."""
THEMES: Mapping[str, Theme] = {"dark": DARK, "light": LIGHT, "sixteen": SIXTEEN, "plain": PLAIN}


def look(theme: Theme, words: str) -> Look:
    """The words of a span together: later ones add to and override earlier ones."""
    found = theme.get("", Look())
    for word in words.split():
        more = theme.get(word)
        if more is not None:
            found = Look(more.colour or found.colour, more.ground or found.ground, found.bold or more.bold, found.dim or more.dim,
                         found.reverse or more.reverse, found.underline or more.underline)  # fmt: skip
    return found
