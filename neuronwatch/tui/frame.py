"""One whole frame as rows: the line of the verdict, the page, the line of keys. The screen and `top --once` show the same."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.glyphs import UNICODE, Glyphs
from neuronwatch.tui.draw.row import Row, Span, beside, cells, clipped, cut, in_ascii, row, safe, span
from neuronwatch.tui.pages import help
from neuronwatch.tui.pages.api import Frame, Page
from neuronwatch.tui.pages.book import tabs
from neuronwatch.tui.pages.palette import Palette
from neuronwatch.tui.pages.words import STYLES, mark
from neuronwatch.tui.view.picture import Picture
from neuronwatch.tui.view.values import ODD

UNDRAWN = "this page cannot be drawn: the daemon told something that is not understood"
MOST = (400, 150)
"""Columns and lines above which nothing more is told: what a larger terminal has beyond them stays empty."""
LEAST = (40, 8)
"""Columns and lines below which nothing useful can be shown."""


def compose(
    picture: Picture,
    page: Page,
    pages: Sequence[Page],
    width: int,
    height: int,
    glyphs: Glyphs,
    said: str = "",
    helping: bool = False,
    palette: Palette | None = None,
) -> list[Row]:
    """Exactly `height` rows of `width` cells."""
    if width < LEAST[0] or height < LEAST[1]:
        rows = [
            row(span(f"{mark(glyphs, picture.verdict)} {picture.verdict}", STYLES[picture.verdict])),
            row(f"{width}x{height}: enlarge the terminal"),
        ]
    else:
        frame = Frame(width, height - 3, glyphs)
        if palette is not None:
            content = palette.rows(frame)
        else:
            content = help.rows(page, pages, frame) if helping else _content(picture, page, frame)
        rows = [_header(picture, width, glyphs), _tabs(page, pages, width), *content]
        rows = rows[: height - 1]
        rows += [()] * (height - 1 - len(rows))
        rows.append(_footer(page, width, said, picture.caption))
    shown = [clipped(line, width) for line in (rows + [()] * height)[:height]]
    return shown if glyphs is UNICODE else list(map(in_ascii, shown))


def _content(picture: Picture, page: Page, frame: Frame) -> list[Row]:
    """The page. What a daemon tells may be odd in ways that no page foresees: then the page says so, and the others go on."""
    lacks = sorted(picture.lacks.intersection(need.partition(" ")[0] for need in (*page.needs(), "facts")))
    try:
        rows = page.rows(picture, frame._replace(height=frame.height - bool(lacks)))
    except ODD as error:
        rows = [row(span(f"  {UNDRAWN} ({type(error).__name__}: {str(error)[:100]})", "error"))]
    if lacks:
        rows.insert(
            0,
            row(span(f"  {frame.glyphs.unknown} this daemon is older: it does not know {', '.join(lacks)}; update it", "unknown")),
        )
    return rows


def _header(picture: Picture, width: int, glyphs: Glyphs) -> Row:
    """The verdict with its reason, and how old the news is."""
    verdict = picture.verdict
    style = STYLES.get(verdict, "unknown")
    link = picture.link
    age = f" {units.span(max(0.0, picture.now - link.since))}" if picture.now and link.since else ""
    at = units.clock(link.since)
    when = units.clock(picture.now) if picture.now else "--:--:--"
    told = {
        "live": Span("live", "ok"), "private": Span("private", "info"), "demo": Span("demo", "info"),
        "replay": Span("replay", "info"), "past": Span("PAST", "warning"),
        "paused": Span(f"PAUSED at {at}Z", "warning"), "waiting": Span("waiting", "unknown"),
        "lost": Span(f"DAEMON LOST{age}", "critical"),
    }[link.what]  # fmt: skip
    left = row(span(f" {mark(glyphs, verdict)} {verdict.upper()} ", f"{style} fill"), span(f" {'; '.join(picture.reasons()[:3])}"))
    return beside(left, row(told, span(f"  {when}Z ", "dim")), width)


def _tabs(page: Page, pages: Sequence[Page], width: int) -> Row:
    spans: list[Span] = []
    for item, tab in zip(pages, tabs(pages, page, width), strict=True):
        chosen = " chosen" if item is page else ""
        spans += [span(tab.number, f"key{chosen}"), span(tab.name, f"tab{chosen}")]
    return clipped(tuple(spans), width)


def _footer(page: Page, width: int, said: str, caption: str) -> Row:
    """What was said, or the keys. A key is never cut: what does not fit is left out, the least first, and stands in the help."""
    if said:
        return clipped(row(span(f" {said}", "info")), width)
    always = (("?", "help"), ("q", "quit"))
    hints = page.hints()
    common = (("space", "pause"), ("[ ]", "time"), *((("/", "filter"),) if page.filters else ()), ("y", "copy"), *always)
    room = width - sum(_size(item) for item in always)
    spans: list[Span] = []
    if caption:
        shown = cut(safe(f" {caption} "), max(0, room))
        room -= cells(shown)
        spans.append(Span(shown, "info"))
    fits = set(always)
    for item in sorted((*hints, *common[:-2]), key=lambda item: 0 if item[0] == "/" else 1 if item in hints else 2):
        if item not in fits and _size(item) <= room:
            room -= _size(item)
            fits.add(item)
    for key, what in (item for item in (*hints, *common) if item in fits):
        spans += [span(f" {key}", "key"), span(f" {what} ", "dim")]
    return clipped(tuple(spans), width)


def _size(item: tuple[str, str]) -> int:
    return cells(safe(item[0])) + cells(safe(item[1])) + 3
