"""Marks and styles of verdicts, severities, states and trust: the same on every page."""

from __future__ import annotations

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row, Span, cells, cut, safe, span
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.view.values import Seen

STYLES = {
    "healthy": "ok", "warning": "warning", "fault": "error", "unknown": "unknown",
    "critical": "critical", "error": "error", "info": "info",
    "fresh": "ok", "starting": "info", "stale": "stale", "missing": "dim", "failed": "error",
    "open": "error", "acknowledged": "warning", "resolved": "dim",
}  # fmt: skip


def heading(text: str, frame: Frame, more: str = "") -> Row:
    """The title of a section on a line across the page, `more` at its end where both fit."""
    rule = frame.glyphs.rule
    name = cut(safe(text), max(0, frame.width - 6))
    tail = f" {safe(more)} " if more and cells(name) + cells(safe(more)) + 8 <= frame.width else ""
    line = rule * max(0, frame.width - 4 - cells(name) - cells(tail))
    return (Span(f"{rule}{rule} ", "rule"), Span(name, "heading"), Span(f" {line}", "rule"), Span(tail, "dim"))


def mark(glyphs: Glyphs, word: str) -> str:
    """The mark that goes with a word, so that no state is told by colour alone."""
    if word in ("healthy", "fresh", "resolved"):
        return glyphs.ok
    if word in ("fault", "critical", "error", "failed"):
        return glyphs.fault
    if word in ("warning", "acknowledged", "open"):
        return glyphs.warning
    if word == "stale":
        return glyphs.stale
    return glyphs.unknown if word == "unknown" else glyphs.dot


def badge(glyphs: Glyphs, word: str, shown: str = "") -> Span:
    return span(f"{mark(glyphs, word)} {shown or word}", STYLES.get(word, ""))


def number(seen: Seen, shown: str, glyphs: Glyphs, width: int, style: str = "") -> Span:
    """A value in its cells: stale looks stale, what is not known is a mark and no number."""
    if seen.number is None:
        return Span(
            (glyphs.unknown if seen.trust == "unknown" else glyphs.empty).rjust(width),
            "unknown" if seen.trust == "unknown" else "dim",
        )
    if seen.trust == "stale":
        return Span(f"{shown}{glyphs.stale}".rjust(width), "stale")
    return Span(shown.rjust(width), style)
