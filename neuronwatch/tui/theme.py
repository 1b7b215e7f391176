"""Colours of the style words. A theme is data: word to (colour, background, attributes).

Heat is one hue, blue, from dark to bright: warm colours are states and nothing else, so that one fault among a hundred busy cores
is seen from far. Safe for the colour-blind: no red against green; marks tell the states anyway.
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

_HEAT = ("#2d4470", "#2f568c", "#3169a6", "#377fbd", "#4696cd", "#5eaddb", "#83c6e8", "#b4e1f4")
_LIGHT_HEAT = ("#b9d3e8", "#9cc2e2", "#7dafda", "#5c9ad0", "#3f84c2", "#2a6dae", "#1b5694", "#0e3f78")
DARK: Theme = {
    "": Look("#d8dee9"),
    "dim": Look("#7f8aa0"),
    "title": Look("#eceff4", bold=True),
    "value": Look("#eceff4"),
    "key": Look("#88c0d0", bold=True),
    "tab": Look("#9aa5b8"),
    "chosen": Look("#ffffff", "#30507a", bold=True),
    "rule": Look("#465168"),
    "heading": Look("#a9b7cf", bold=True),
    "command": Look("#a8d8ea", "#1f2c40"),
    "spark": Look("#5e9fd6"),
    "trail": Look("#3d6a9c"),
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
    "part0": Look("#6f7bc0"),
    "part1": Look("#59b8a6"),
    "part2": Look("#b9a86a"),
    "part3": Look("#b48fc9"),
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
    "rule": Look("#b3bccb"),
    "heading": Look("#34435c", bold=True),
    "command": Look("#0b4a6f", "#e3eef7"),
    "cursor": Look(ground="#dbe6f5"),
    "ok": Look("#00786a"),
    "info": Look("#2f5f9e"),
    "warning": Look("#8a6100", bold=True),
    "error": Look("#b8400a", bold=True),
    "unknown": Look("#7b3fa0", bold=True),
    "stale": Look("#7c6a8a"),
    "spark": Look("#3f84c2"),
    "trail": Look("#8db5dc"),
    "part0": Look("#5c69bd"),
    **{f"heat{n}": Look(colour) for n, colour in enumerate(_LIGHT_HEAT)},
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
    "heading": Look(bold=True),
    "command": Look("cyan"),
    "spark": Look("blue"),
    "trail": Look("blue"),
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
    "heat2": Look("bright_blue"),
    "heat3": Look("bright_blue"),
    "heat4": Look("cyan"),
    "heat5": Look("cyan"),
    "heat6": Look("bright_cyan"),
    "heat7": Look("bright_cyan"),
}
PLAIN: Theme = {
    "dim": Look(dim=True),
    "title": Look(bold=True),
    "heading": Look(bold=True),
    "command": Look(underline=True),
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
