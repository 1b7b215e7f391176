"""Everything that is read: its state, its age against its budget, and why it is not fresh."""

from __future__ import annotations

import textwrap

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, safe, span
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.words import STYLES, badge, heading
from neuronwatch.tui.view.picture import Picture, Plain

ABOUT = 7
"""Rows that tell of the source under the cursor."""


class Sources(Page):
    name = "sources"
    title = "Sources"
    brief = "Src"

    def __init__(self) -> None:
        self._list = Listing()

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        found = picture.sources()
        head = row(span(f"  {'source':<16}{'state':<12}{'age':>6} {'budget':>7}   {'since':>6}  reason", "dim"))
        if not found:
            return [head, row(span("  nothing is known of the sources: the daemon has not answered", "unknown"))]
        rows = [head]
        about = ABOUT if frame.height >= ABOUT + 8 else 0
        for place in self._list.window(len(found), frame.height - 1 - about):
            item = found[place]
            age, state = item["age"], item["state"]
            late = age is not None and 0 < item["budget"] < age
            style = STYLES.get(item["state"], "") if item["reason"] else "dim"
            line = (
                self._list.sign(place, frame.glyphs),
                span(fitted(item["name"], 16), "title"), badge(frame.glyphs, state, fitted(state, 10)),
                Span(f"{units.span(age) if age is not None else 'never':>6}", "stale" if late else "value"),
                Span(f" {units.span(item['budget']):>7}   {units.span(picture.now - item['since']):>6}  ", "dim"),
                span(("mandatory  " if item["mandatory"] else "") + item["reason"], style),
            )  # fmt: skip
            rows.append(clipped(line, frame.width))
        return [*rows, *(_about(found[self._list.cursor], picture, frame) if about else [])]

    def key(self, key: str, picture: Picture) -> Request | None:
        self._list.key(key)
        return None

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        self._list.choose(self._list.top + y - 1)
        return None

    def copied(self, picture: Picture) -> str:
        found = picture.sources()
        return f"{found[self._list.cursor]['name']}: {found[self._list.cursor]['reason']}" if found else ""


def _about(item: Plain, picture: Picture, frame: Frame) -> list[Row]:
    """What a source tells, how it stands and why, in full."""
    told = picture.told_by(item["name"])
    values = sum(told.values())
    last = f"last read at {units.clock(item['last'])}Z" if item["last"] is not None else "never read"
    must = "without it the host is not called healthy" if item["mandatory"] else "the verdict does not hang on it"
    lines = [
        f"{item['state']} since {units.clock(item['since'])}Z, {last}, old after {units.span(item['budget'])}; {must}",
        f"{item['reason']}",
        f"tells {units.counted(values, 'number')}: {', '.join(told)}" if told else "tells no numbers: facts, texts or processes",
    ]
    wrapped = [part for line in lines if line for part in textwrap.wrap(safe(line), max(20, frame.width - 4))]
    return [heading(item["name"], frame), *(clipped(row(span(f"  {part}")), frame.width) for part in wrapped[: ABOUT - 2])]
