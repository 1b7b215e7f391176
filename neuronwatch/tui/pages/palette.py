"""The command palette over every page: everything that can be done or opened, by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from neuronwatch.tui.draw.row import Row, Span, clipped, row, span, styled
from neuronwatch.tui.pages.api import Frame, Page
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.view.picture import Picture

NAMES = 40
"""Cells of the names of what has a key too."""
MOST = 500
"""Incidents that are offered."""
ACTIONS = (
    ("?", "help: keys and marks"),
    ("space", "pause, go on"),
    ("/", "filter this page"),
    ("y", "copy what is under the cursor"),
    ("[", "time: 10 seconds earlier"),
    ("]", "time: 10 seconds later"),
    ("{", "time: 5 minutes earlier"),
    ("}", "time: 5 minutes later"),
    ("now", "time: back to now"),
    ("T", "theme: the next one"),
    ("q", "quit"),
)


class Command(NamedTuple):
    """`do`: `key` (as if `what` was pressed), `page`, `incident`, `theme`. `key`: what does the same without the palette."""

    do: str
    what: str
    shown: str
    key: str = ""


class Palette:
    def __init__(self, pages: Sequence[Page], themes: Iterable[str], picture: Picture) -> None:
        self.text = ""
        self._list = Listing()
        self._commands = [Command("page", page.name, f"page: {page.title}", f"{number}") for number, page in enumerate(pages, 1)]
        self._commands += [Command("key", key, what, "escape" if key == "now" else key) for key, what in ACTIONS]
        self._commands += [Command("theme", name, f"theme: {name}") for name in themes]
        self._commands += [
            Command("incident", str(item["id"]), f"incident: {item['fault'] or '(cause not known)'}  {item['title']}  {item['id']}")
            for item in picture.incidents[:MOST]
        ]
        self._found = self._commands

    def key(self, key: str, character: str | None) -> Command | None:
        """A key; the command when one was chosen."""
        if key == "enter":
            return self._found[self._list.cursor] if self._found else None
        if key in ("up", "down", "pageup", "pagedown", "home", "end"):
            self._list.key(key)
        elif key == "backspace":
            self._filter(self.text[:-1])
        elif key == "ctrl+u":
            self._filter("")
        elif character is not None and character.isprintable() and len(self.text) < 100:
            self._filter(self.text + character)
        return None

    def click(self, y: int) -> Command | None:
        """A click on a row of what was drawn last."""
        return self._found[self._list.cursor] if y >= 1 and self._list.choose(self._list.top + y - 1) else None

    def scroll(self, lines: int) -> None:
        for _ in range(abs(lines)):
            self._list.key("down" if lines > 0 else "up")

    def rows(self, frame: Frame) -> list[Row]:
        head = row(span(f" : {self.text}_", "title"), span("   enter does it, escape ends", "dim"))
        if not self._found:
            return [clipped(head, frame.width), row(span("   nothing is called so", "dim"))]
        rows = [clipped(head, frame.width)]
        for place in self._list.window(len(self._found), max(1, frame.height - 1)):
            chosen = place == self._list.cursor
            command = self._found[place]
            name = (Span((f" {frame.glyphs.cursor}" if chosen else "  ") + " ", "key"), *self._marked(command.shown))
            line = (*clipped(name, min(frame.width, NAMES)), span(command.key, "key")) if command.key else name
            rows.append(styled(clipped(line, frame.width), "cursor") if chosen else clipped(line, frame.width))
        return rows

    def _marked(self, shown: str) -> Row:
        """The name with the letters that were found."""
        places = match(self.text, shown)
        if not places:
            return row(shown)
        wanted = set(places)
        return tuple(span(c, "key" if place in wanted else "") for place, c in enumerate(shown[:300]))

    def _filter(self, text: str) -> None:
        self.text = text
        scored = [(place, number) for number, command in enumerate(self._commands)
                  if (place := score(text, command.shown)) is not None]  # fmt: skip
        self._found = [self._commands[number] for _, number in sorted(scored)]
        self._list = Listing()


def match(text: str, shown: str) -> list[int] | None:
    """Where the letters of a text stand in a name: together where they do, else in their order. None: not all are there."""
    wanted, name = text.casefold().replace(" ", ""), shown.casefold()
    if not wanted:
        return []
    at = name.find(text.casefold().strip())
    if at >= 0:
        return list(range(at, at + len(text.strip())))
    places: list[int] = []
    at = -1
    for c in wanted:
        at = name.find(c, at + 1)
        if at < 0:
            return None
        places.append(at)
    return places


def score(text: str, shown: str) -> int | None:
    """Smaller is better: letters that stand together, and early. None: it does not match."""
    places = match(text, shown)
    if places is None:
        return None
    return 10 * (places[-1] - places[0] + 1 - len(places)) + places[0] if places else 0
