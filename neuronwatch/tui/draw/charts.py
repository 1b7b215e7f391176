"""Bars, columns and lines of history as spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuronwatch.tui.draw.glyphs import Glyphs, level
from neuronwatch.tui.draw.row import Span

HEATS = 8


def heat(share: float) -> str:
    """The style of a share from 0 to 1: `heat0` to `heat7`."""
    return f"heat{min(HEATS - 1, max(0, int(share * HEATS)))}"


def spark(points: Sequence[float | None], width: int, glyphs: Glyphs, top: float, style: str = "") -> list[Span]:
    """The last `width` points as columns against `top`; None is a gap, drawn as one."""
    shown = list(points)[-width:] if width > 0 else []
    text = "".join(" " if value is None else level(glyphs, value / top if top > 0 else 0.0) for value in shown)
    return [Span(" " * (width - len(shown))), Span(text, style or "spark")]


def bar(share: float | None, width: int, glyphs: Glyphs, style: str = "") -> list[Span]:
    """A share from 0 to 1. None: nobody knows, and the bar says so."""
    if share is None:
        return [Span((glyphs.unknown + glyphs.empty * width)[:width], "unknown")]
    full = min(width, max(0, round(share * width)))
    return [Span(glyphs.full * full, style or heat(share)), Span(glyphs.empty * (width - full), "dim")]


def stacked(parts: Sequence[float], whole: float | None, width: int, glyphs: Glyphs) -> list[Span]:
    """Parts of a whole side by side, each with a shade and a style (`part0`, `part1`, ...) of its own."""
    if not whole or whole <= 0:
        return [Span((glyphs.unknown + glyphs.empty * width)[:width], "unknown")]
    spans, before, used = [], 0.0, 0
    for number, part in enumerate(parts):
        before += part
        end = min(width, round(before / whole * width))
        if end > used:
            spans.append(Span(glyphs.shades[number % len(glyphs.shades)] * (end - used), f"part{number}"))
            used = end
    return [*spans, Span(glyphs.empty * (width - used), "dim")]


def highest(points: Iterable[float | None], least: float) -> float:
    """The top of a line of history: its highest point, at least `least`."""
    return max([least, *(value for value in points if value is not None)])
