"""The help over every page: all keys, the marks, and what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, span
from neuronwatch.tui.pages.api import Frame, Page
from neuronwatch.tui.pages.words import badge

KEYS = (
    ("tab, shift+tab", "next page, previous page"),
    ("arrows, h j k l", "move"),
    ("g, G, page keys", "first, last, a page"),
    ("enter", "open the line"),
    ("escape", "back; ends a filter"),
    ("/", "filter"),
    ("space", "pause the picture"),
    ("[ ] { }", "time: 10 s, 5 min; escape"),
    ("y", "copy what is there"),
    (":, ctrl+p", "command palette"),
    ("T (t)", "next theme"),
    ("?", "this help"),
    ("q, ctrl+z", "quit, suspend"),
)


NOTES = ("An old number counts in no mean.", "What nobody told is never 0.")
WIDE = 76
"""Cells from which keys and marks stand side by side, so that all of it fits on the smallest usual terminal."""


def rows(page: Page, pages: Sequence[Page], frame: Frame) -> list[Row]:
    keys, marks = _keys(page, len(pages)), _marks(frame.glyphs)
    if frame.width < WIDE:
        found = [*keys, (), *marks]
    else:
        half = max(46, frame.width // 2 - 20)
        empty: Row = ()
        found = [
            clipped(left, half) + right
            for left, right in zip_longest(keys[: frame.height], marks[: frame.height], fillvalue=empty)
        ]  # fmt: skip
    return [clipped(line, frame.width) for line in found[: frame.height]]


def _keys(page: Page, count: int) -> list[Row]:
    found: list[Row] = [row(span("  Keys", "title"))]
    shown = (("1" if count == 1 else f"1-{count}", "open a page"), *KEYS)
    found += [row(span(f"  {fitted(key, 15)} ", "key"), what) for key, what in shown]
    if page.hints():
        found += [(), row(span(f"  On {page.title}", "title"))]
        found += [row(span(f"  {fitted(key, 15)} ", "key"), what) for key, what in page.hints()]
    return found


def _marks(glyphs: Glyphs) -> list[Row]:
    found: list[Row] = [row(span("  Marks", "title"))]
    found += [(Span("  "), badge(glyphs, word)) for word in ("healthy", "warning", "fault", "unknown", "stale")]
    found += [(), row(span("  Cores", "title"))]
    cores = (
        ("heat7", glyphs.full, "busy, as high as it is used"),
        ("warning", glyphs.idle, "held but idle"),
        ("dim", glyphs.free, "free"),
        ("error", glyphs.fault, "faulty: an incident names it"),
        ("stale", glyphs.stale, "old value"),
        ("unknown", glyphs.unknown, "not known"),
    )
    found += [(Span("  "), Span(sign, style), Span(f" {what}")) for style, sign, what in cores]
    return [*found, (), *(row(span(f"  {text}", "dim")) for text in NOTES)]
