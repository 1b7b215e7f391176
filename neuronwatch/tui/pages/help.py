"""The help over every page: all keys, the marks, and what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, span
from neuronwatch.tui.pages.api import Frame, Page
from neuronwatch.tui.pages.words import badge

KEYS = (
    ("1-8", "open a page"),
    ("tab, shift+tab", "next page, the one before"),
    ("arrows, h j k l", "move"),
    ("g, G, page keys", "first, last, a page"),
    ("enter", "open what is under the cursor"),
    ("escape", "back; ends a filter"),
    ("/", "filter"),
    ("space", "pause: the picture stands still"),
    ("[ ] { }", "time: 10 seconds, 5 minutes; escape: now"),
    ("y", "copy what is under the cursor"),
    (":, ctrl+p", "command palette"),
    ("T (t)", "next theme"),
    ("?", "this help"),
    ("q", "quit"),
)


def rows(page: Page, pages: Sequence[Page], frame: Frame) -> list[Row]:
    glyphs = frame.glyphs
    found: list[Row] = [row(span("  Keys", "title"))]
    found += [row(span(f"  {fitted(key, 18)}", "key"), what) for key, what in KEYS]
    if page.hints():
        found += [(), row(span(f"  On {page.title}", "title"))]
        found += [row(span(f"  {fitted(key, 18)}", "key"), what) for key, what in page.hints()]
    found += [(), row(span("  Pages", "title"))]
    named = [(span(f"  {number} ", "key"), span(fitted(item.title, 13))) for number, item in enumerate(pages, 1)]
    across = max(1, frame.width // 17)
    found += [tuple(part for item in named[at : at + across] for part in item) for at in range(0, len(named), across)]
    marks: list[Span] = [Span("  ")]
    for word in ("healthy", "warning", "fault", "unknown", "stale"):
        marks += [badge(glyphs, word), Span("   ")]
    found += [(), row(span("  Marks", "title")), tuple(marks)]
    cores = (
        ("heat7", glyphs.full, "busy"),
        ("warning", glyphs.idle, "held but idle"),
        ("dim", glyphs.free, "free"),
        ("error", glyphs.fault, "faulty"),
        ("stale", glyphs.stale, "old value"),
        ("unknown", glyphs.unknown, "not known"),
    )
    found.append(tuple(part for style, sign, what in cores for part in (Span(f"  {sign} ", style), Span(f"{what} "))))
    found.append(row(span("  An old number is marked and counts in no mean; what nobody told is a mark, never 0.", "dim")))
    return [clipped(line, frame.width) for line in found[: frame.height]]
