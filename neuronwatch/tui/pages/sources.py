"""Everything that is read: its state, its age against its budget, and why it is not fresh."""

from __future__ import annotations

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, span
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.words import STYLES, badge
from neuronwatch.tui.view.picture import Picture


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
        for place in self._list.window(len(found), frame.height - 1):
            item = found[place]
            age = max(0.0, picture.now - item["last"]) if item["last"] is not None else None
            late = age is not None and 0 < item["budget"] < age
            state = "stale" if late and item["state"] == "fresh" else item["state"]
            style = STYLES.get(item["state"], "") if item["reason"] else "dim"
            line = (
                self._list.sign(place, frame.glyphs),
                span(fitted(item["name"], 16), "title"), badge(frame.glyphs, state, fitted(state, 10)),
                Span(f"{units.span(age) if age is not None else 'never':>6}", "stale" if late else "value"),
                Span(f" {units.span(item['budget']):>7}   {units.span(picture.now - item['since']):>6}  ", "dim"),
                span(("mandatory  " if item["mandatory"] else "") + item["reason"], style),
            )  # fmt: skip
            rows.append(clipped(line, frame.width))
        return rows

    def key(self, key: str, picture: Picture) -> Request | None:
        self._list.key(key)
        return None

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        self._list.choose(self._list.top + y - 1)
        return None

    def copied(self, picture: Picture) -> str:
        found = picture.sources()
        return f"{found[self._list.cursor]['name']}: {found[self._list.cursor]['reason']}" if found else ""
