"""Incidents: the list, worst first, and one of them from root to symptoms (pages/incident_detail.py). Above them stands what waits
for a person (pages/proposal.py)."""

from __future__ import annotations

from neuronwatch.tui.draw.row import Row, Span, clipped, row, span
from neuronwatch.tui.pages import proposal
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.incident_detail import Detail
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.overview import incident_line
from neuronwatch.tui.view.picture import Picture, Plain

PREVIEW = 8
"""Rows that must be left below the list for it to tell of the chosen incident too."""


class Incidents(Page):
    name = "incidents"
    title = "Incidents"
    brief = "Incid"
    filters = True

    def __init__(self) -> None:
        self._list = Listing()
        self._detail: Detail | None = None
        self._proposal = ""
        """The id of the proposal that is shown."""
        self._answering = proposal.Answering()
        self._waits = False
        """Whether anything waited for a person in the frame that was drawn last."""
        self._text = ""
        self._first = 1

    def needs(self) -> tuple[str, ...]:
        return ("proposals", *((f"evidence {self._detail.id}",) if self._detail is not None else ()))

    def show(self, subject: str) -> None:
        self._detail, self._proposal = Detail(subject), ""

    def filter(self, text: str) -> None:
        self._text = text.casefold()

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        self._waits = bool(picture.proposals)
        if self._detail is not None:
            return self._detail.rows(picture, frame)
        if self._proposal:
            item = proposal.find(picture, self._proposal)
            gone = f"  proposal {self._proposal} does not wait any more: it was answered, or its job went on"
            return proposal.rows(item, picture.now, frame) if item else [row(span(gone, "dim"))]
        found = self._shown(picture)
        if not found:
            self._list.window(0, 1)
            if picture.link.what in ("lost", "waiting"):
                return [
                    row(span(f"  {frame.glyphs.unknown} not known: {picture.link.reason or 'waiting for the daemon'}", "unknown"))
                ]
            why = f"no incident contains {self._text!r}" if self._text else "no incident is known"
            return [row(span(f"  {why}", "dim"))]
        rows = [row(span(f"  {'severity':<11}{'age':>5}  fault", "dim"))]
        for place in self._list.window(len(found), frame.height - 1):
            chosen = place == self._list.cursor
            draw = proposal.line if "preview" in found[place] else incident_line
            line = (Span((frame.glyphs.cursor if chosen else " ") + " ", "key"), *draw(found[place], picture.now, frame))
            rows.append(clipped(line, frame.width))
        room = frame.height - len(rows) - 1
        if room >= PREVIEW:  # the rest of the screen tells of the chosen one
            item, below = found[self._list.cursor], frame._replace(height=room)
            rows.append(row(span(frame.glyphs.rule * frame.width, "rule")))
            rows += proposal.rows(item, picture.now, below) if "preview" in item else Detail(item["id"]).preview(picture, below)
        return rows

    def _shown(self, picture: Picture) -> list[Plain]:
        waiting = [item for item in picture.proposals if self._text in f"{item['id']} {item.get('words')}".casefold()]
        known = [
            item
            for item in picture.incidents
            if self._text in f"{item['id']} {item['fault']} {item['title']} {item['state']}".casefold()
        ]
        return [*waiting, *known]

    def key(self, key: str, picture: Picture) -> Request | None:
        if self._detail is not None:
            if key in ("escape", "backspace", "h"):
                self._detail = None
                return None
            if key in ("n", "p"):
                self._step(1 if key == "n" else -1, picture)
                return None
            return self._detail.key(key, picture)
        if self._proposal:
            item = proposal.find(picture, self._proposal)
            if key in ("escape", "backspace", "h"):
                self._proposal = ""
            return self._answering.key(key, item, picture) if item else None
        found = self._shown(picture)
        chosen = found[min(self._list.cursor, len(found) - 1)] if found else None
        if self._list.key(key) or chosen is None:
            return None
        if key in ("enter", "l"):
            self._open(chosen)
        elif "preview" in chosen:
            return self._answering.key(key, chosen, picture)
        elif key == "a":
            return acknowledge(chosen)
        return None

    def _open(self, item: Plain) -> None:
        if "preview" in item:
            self._proposal = item["id"]
        else:
            self._detail = Detail(item["id"])

    def _step(self, by: int, picture: Picture) -> None:
        """To the next incident of the list."""
        assert self._detail is not None
        ids = [item["id"] for item in self._shown(picture) if "preview" not in item]
        if ids:
            place = ids.index(self._detail.id) if self._detail.id in ids else 0
            place = (place + by) % len(ids)
            self._list.cursor = place + len(self._shown(picture)) - len(ids)
            self._detail = Detail(ids[place])

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        if self._detail is not None:
            return self._detail.click(y, picture)
        if not self._proposal and y >= self._first and self._list.choose(self._list.top + y - self._first):
            self._open(self._shown(picture)[self._list.cursor])
        return None

    def copied(self, picture: Picture) -> str:
        if self._detail is not None:
            return self._detail.copied()
        found = self._shown(picture)
        return self._proposal or (str(found[min(self._list.cursor, len(found) - 1)]["id"]) if found else "")

    def hints(self) -> tuple[tuple[str, str], ...]:
        if self._detail is not None:
            return (("a", "acknowledge"), ("n p", "next, previous"), ("enter", "go to the line"), ("escape", "list"))
        answers = (("A", "approve"), ("D", "decline")) if self._waits or self._proposal else ()
        return (*answers, ("escape", "list")) if self._proposal else (("enter", "show"), ("a", "acknowledge"), *answers)


def acknowledge(item: Plain) -> Request:
    if item["state"] != "open":
        return Request("say", (f"{item['id']} is {item['state']} already",))
    return Request("call", ("ack", f"acknowledged {item['id']}"), (("id", item["id"]),))
