"""What a page is: the picture as rows, and what keys and the mouse do to its own state (cursor, scroll, filter)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row
from neuronwatch.tui.view.picture import Picture


class Frame(NamedTuple):
    """The room that a page has, and the marks of the terminal."""

    width: int
    height: int
    glyphs: Glyphs


class Request(NamedTuple):
    """What a page asks of the program. `do`: open (another page, `arguments[0]` its name, then the subject), copy (a text), call (a
    method of the daemon, then what to say when it is done; `parameters` its parameters), say (a line for the footer)."""

    do: Literal["open", "copy", "call", "say"]
    arguments: tuple[str, ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()


class Page:
    """A page is a class with these; what it does not say is as here. `name` is the word of the command palette."""

    name = ""
    title = ""
    brief = ""
    """The title where there is little room; "" where it is short by itself."""
    filters = False
    """Whether `/` makes sense here."""

    busy = False
    """Whether `work` has more to do, after `rows` or `work`."""

    def needs(self) -> tuple[str, ...]:
        """What the feed must fetch while the page is shown: methods of the API, with a subject after a blank (`evidence ID`).
        See feed/live.py NEEDS."""
        return ()

    def show(self, subject: str) -> None:
        """The page was opened for a subject: an incident's id, a path, a pid."""

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        """At most `frame.height` rows; the rest of the screen stays empty."""
        raise NotImplementedError

    def work(self, picture: Picture, seconds: float) -> None:
        """Does a part of what takes long (a search in a million lines), for so many seconds. Called again while `busy`, between
        frames, so that none waits for it."""

    def key(self, key: str, picture: Picture) -> Request | None:
        """A key: its character (`j`, `G`), or its name in Textual (`down`, `enter`, `pageup`)."""
        return None

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        """A click on a cell of the frame that was drawn last."""
        return None

    def filter(self, text: str) -> None:
        """Shows only what contains the text; "" shows everything. Called while it is typed."""

    def copied(self, picture: Picture) -> str:
        """What `y` copies: the thing under the cursor; "" when there is none."""
        return ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        """The page's own keys, for the footer and the help: (key, what it does)."""
        return ()
