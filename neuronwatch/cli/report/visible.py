"""Hostile text made harmless for every kind of report."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
MARK = "\N{SYMBOL FOR SUBSTITUTE FORM TWO}"


def visible(text: str) -> str:
    """One line with control, bidirectional, zero-width and lone surrogate characters as visible marks, tabs as blanks."""
    return _CONTROL.sub(MARK, text.expandtabs(4))
