"""Logs: the lines of all followed texts by time, at their end and following, or where one looks; what a filter leaves; the line
of an incident's evidence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from neuronwatch.tui.draw.row import Row
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.log_rows import Shown, header, line_row, titles, whole
from neuronwatch.tui.view.log_lines import ERROR, INFO, NOBODY, WARNING
from neuronwatch.tui.view.log_search import Query, Search, query, seek
from neuronwatch.tui.view.logs import Line, Logs, is_records
from neuronwatch.tui.view.picture import Picture

LOOK = 0.008
"""Seconds that a frame or a key looks for lines itself; the rest is done between frames (`work`)."""
SIDEWAYS = 16
LEAST = (None, INFO, WARNING, ERROR)
HEAD = 2
"""Rows above the lines."""


class LogsPage(Page):
    name = "logs"
    title = "Logs"
    filters = True

    def __init__(self) -> None:
        self._logs: Logs | None = None
        self._cursor = 0
        self._top = 0
        self._room = 1
        self._follows = True
        self._middle = False
        """Whether the next frame has the cursor in its middle: after a jump to what was not on the screen."""
        self._offset = 0
        self._typed = ""
        self._query = Query()
        self._only = True
        """Whether lines without the text are left out; else the text is only marked."""
        self._open = False
        self._brief = True
        self._said = ""
        self._drawn: list[int] = []
        self._goal: tuple[Search, int, int] | None = None
        """A jump that waits for its search: (search, from, direction)."""
        self._wanted = ""
        """`PATH:LINE` to go to as soon as it is there."""
        self._seeks: Iterator[int | None] | None = None
        self._sought = (-1, False)

    def needs(self) -> tuple[str, ...]:
        return ("logs",)

    def show(self, subject: str) -> None:
        self._wanted, self._seeks = subject, None
        self._typed, self._query, self._only = "", Query(), True
        self._goal, self._logs, self._follows = None, None, False
        self._sought = (-1, False)

    def filter(self, text: str) -> None:
        self._typed = text
        self._ask(query(text))

    # Searches

    def _ask(self, wanted: Query) -> None:
        self._query, self._goal, self._said = wanted._replace(until=self._query.until), None, ""
        self._searches()

    def _bind(self, picture: Picture) -> Logs:
        """The searches belong to the lines of one picture."""
        if self._logs is not picture.logs or self._query.until != picture.until:
            self._logs = picture.logs
            self._query = self._query._replace(until=picture.until)
            self._searches()
        return picture.logs

    def _searches(self) -> None:
        if self._logs is not None:
            structure = self._query.structure
            self._matches = Search(self._logs, self._query)
            self._shown = self._matches if self._only or structure == self._query else Search(self._logs, structure)
            errors = structure._replace(level=max(ERROR, structure.level or 0))
            self._errors = Search(self._logs, errors)

    def work(self, picture: Picture, seconds: float) -> None:
        self._bind(picture)
        deadline = time.perf_counter() + seconds
        self._seek(picture, deadline)
        if self._goal is not None:
            search, place, step = self._goal
            self._go(search, place, step, deadline)
        more = self._matches.work(deadline)
        if self._shown is not self._matches:
            more = self._shown.work(deadline) or more
        self.busy = more or self._goal is not None or self._seeks is not None

    # Drawing

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        logs = self._bind(picture)
        deadline = time.perf_counter() + LOOK
        self._seek(picture, deadline)
        pane = whole(self._at_cursor(), frame) if self._open else []
        self._room = max(1, frame.height - HEAD - len(pane))
        self._drawn = self._window(logs, deadline)
        unfinished = self._shown.unfinished
        self.work(picture, max(0.0, deadline - time.perf_counter()))
        self.busy = self.busy or unfinished
        shown = Shown(
            logs, self._query, self._matches, self._only, self._follows, self._offset, self._below(), self._said, self._brief
        )
        rows = [header(shown, picture, frame, self.busy), titles(shown, frame)]
        for place in self._drawn:
            line = logs.line(place)
            if line is not None:
                rows.append(line_row(line, shown, picture.now, frame, place == self._cursor))
        rows += [()] * (frame.height - len(pane) - len(rows))
        return rows + pane

    def _window(self, logs: Logs, deadline: float) -> list[int]:
        """The places that are shown, with the cursor among them."""
        shown = self._shown
        if self._follows:
            self._cursor = logs.end - 1
        at = shown.at_or_before(self._cursor, deadline)
        if at is None and not shown.unfinished:
            at = shown.at_or_after(max(self._cursor, logs.dropped), deadline)
        if at is None:
            return []
        self._cursor = at
        middle, self._middle = self._middle, False
        if not self._follows and not middle and self._top <= self._cursor:
            places = self._forward(max(self._top, logs.dropped), self._room, deadline)
            if len(places) == self._room and places[0] <= self._cursor <= places[-1]:
                self._top = places[0]
                return places
        # The cursor left the screen, or the screen is not full at its end.
        keep = self._room // 2 if middle else 0 if self._cursor < self._top else self._room - 1
        before = self._back(self._cursor, keep + 1, deadline)
        after = self._forward(self._cursor + 1, self._room - len(before), deadline)
        places = before + after
        if len(places) < self._room:
            places = self._back(places[0] - 1, self._room - len(places), deadline) + places
        self._top = places[0]
        return places

    def _forward(self, place: int, count: int, deadline: float) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            at = self._shown.at_or_after(place, deadline)
            if at is None:
                break
            found.append(at)
            place = at + 1
        return found

    def _back(self, place: int, count: int, deadline: float) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            at = self._shown.at_or_before(place, deadline)
            if at is None:
                break
            found.append(at)
            place = at - 1
        return found[::-1]

    def _below(self) -> int:
        """Lines behind the last one drawn."""
        return self._logs.end - 1 - self._drawn[-1] if self._logs is not None and self._drawn else 0

    def _at_cursor(self) -> Line | None:
        """None also where no line is left by the filter: what is not shown is not under the cursor."""
        return self._logs.line(self._cursor) if self._logs is not None and self._cursor in self._drawn else None

    # Moving

    def key(self, key: str, picture: Picture) -> Request | None:
        self._bind(picture)
        self._said = ""
        if key in ("down", "j", "up", "k", "pagedown", "ctrl+f", "ctrl+d", "pageup", "ctrl+b", "ctrl+u"):
            size = 1 if key in ("down", "j", "up", "k") else self._room
            self._step(size if key in ("down", "j", "pagedown", "ctrl+f", "ctrl+d") else -size)
        elif key in ("end", "G", "shift+g"):
            self._goal, self._follows = None, True
        elif key in ("home", "g"):
            self._go(self._shown, picture.logs.dropped, 1)
        elif key in ("h", "l", "0"):
            self._offset = 0 if key == "0" else max(0, self._offset + (SIDEWAYS if key == "l" else -SIDEWAYS))
        elif key in ("n", "N"):
            self._match(1 if key == "n" else -1)
        elif key in ("e", "E"):
            at_end = self._follows and key == "e"  # the newest one, at the end
            self._go(self._errors, self._cursor + (0 if at_end else 1 if key == "e" else -1), -1 if at_end or key == "E" else 1)
        elif key == "enter":
            self._open = not self._open
        elif key == "w":
            self._brief = not self._brief
        elif key == "f":
            self._only = not self._only
            self._stay(picture)
            self._searches()
        elif key in ("x", "escape"):
            self._typed = ""
            self._stay(picture)
            self._ask(Query())
        else:
            self._narrow(key)
        return None

    def _stay(self, picture: Picture) -> None:
        """More lines will be shown: those around the line under the cursor, also where it was the last of a filter."""
        if self._follows and self._drawn and self._cursor < picture.logs.end - 1:
            self._follows, self._middle = False, True

    def _step(self, by: int) -> None:
        deadline = time.perf_counter() + LOOK
        self._goal = None
        found = self._forward(self._cursor + 1, by, deadline) if by > 0 else self._back(self._cursor - 1, -by, deadline)
        if found:
            self._cursor = found[-1] if by > 0 else found[0]
            self._follows = False
        if by > 0 and not self._shown.unfinished and self._shown.at_or_after(self._cursor + 1, deadline) is None:
            self._follows = not self._shown.unfinished

    def _match(self, step: int) -> None:
        if not self._query.asks:
            self._said = "nothing is searched for: / and a text"
            return
        self._go(self._matches, self._cursor + (step if not (self._follows and step < 0) else 0), step)

    def _go(self, search: Search, place: int, step: int, deadline: float | None = None) -> None:
        """To the next line of a search; where that takes longer, between frames."""
        until = deadline if deadline is not None else time.perf_counter() + LOOK
        found = search.at_or_after(place, until) if step > 0 else search.at_or_before(place, until)
        self._goal = (search, place, step) if search.unfinished else None
        if found is not None:
            self._cursor, self._follows, self._middle = found, False, found not in self._drawn
        elif not search.unfinished:
            what = "error" if search is self._errors else "line" if search is self._shown is not self._matches else "match"
            self._said = f"no {'later' if step > 0 else 'earlier'} {what}"

    def _narrow(self, key: str) -> None:
        """Level, and source, rank or core of the line under the cursor; once more: without."""
        line, wanted = self._at_cursor(), self._query
        if key == "L":
            at = LEAST.index(wanted.level) if wanted.level in LEAST else 0
            self._ask(wanted._replace(level=LEAST[(at + 1) % len(LEAST)]))
        elif key == "s" and wanted.path:
            self._ask(wanted._replace(path=""))
        elif key == "r" and wanted.rank is not None:
            self._ask(wanted._replace(rank=None))
        elif key == "c" and wanted.core is not None:
            self._ask(wanted._replace(core=None))
        elif line is not None and key == "s":
            self._ask(wanted._replace(path=line.path))
        elif line is not None and key == "r" and line.rank != NOBODY:
            self._ask(wanted._replace(rank=line.rank))
        elif line is not None and key == "c" and line.core != NOBODY:
            self._ask(wanted._replace(core=line.core))
        elif line is None and key in ("s", "r", "c"):
            self._said = "there is no line under the cursor"
        elif key in ("r", "c"):
            self._said = f"the line tells no {'rank' if key == 'r' else 'core'}"

    # The evidence of an incident

    def _seek(self, picture: Picture, deadline: float) -> None:
        if not self._wanted:
            return
        path, _, number = self._wanted.rpartition(":")
        line = int(number) if number.isdecimal() else 0
        if self._seeks is None:
            if self._sought == (picture.logs.end, picture.logs.filled):
                return  # nothing came since
            self._seeks = seek(picture.logs, path, line, evidence(picture, path, line))
        for found in self._seeks:
            if found is not None:
                self._wanted, self._seeks, self._said = "", None, ""
                self._cursor, self._follows, self._middle = found, False, True
                return
            if time.perf_counter() >= deadline:
                return
        self._seeks = None
        self._sought = (picture.logs.end, picture.logs.filled)
        why = "is a record, no line of a log" if is_records(path) else "is not among the lines held"
        self._said = f"{self._wanted} {why}" if picture.logs.filled else f"waiting for {self._wanted}"
        if picture.logs.filled:
            self._wanted, self._follows = "", True

    # The rest

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        if HEAD <= y < HEAD + len(self._drawn):
            self._cursor, self._follows = self._drawn[y - HEAD], False
        return None

    def copied(self, picture: Picture) -> str:
        line = self._at_cursor()
        return line.text.decode("utf-8", "replace") if line is not None else ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        always = (
            ("e E", "error"), ("L", "level"), ("enter", "whole"), ("G", "follow"), ("s r c", "this source, rank, core"),
            ("h l 0", "sideways"), ("w", "as written" if self._brief else "short"),
        )  # fmt: skip
        searching = (("n N", "match"), ("x", "all lines"), ("f", "mark only" if self._only else "filter"))
        words = (("/ words", "level:error rank:3 core:nd0:nc1 path:x.log text"),)
        return (*searching, *always, *words) if self._query.asks else (*always, *searching, *words)


def evidence(picture: Picture, path: str, number: int) -> str:
    """What the line of an incident said."""
    for item in picture.incidents:
        for finding in item["findings"]:
            for place in finding["evidence"]:
                if place["path"] == path and (place["line"] or 0) == number:
                    return str(place["text"])
    return ""
