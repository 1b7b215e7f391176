"""What a page is: the picture as rows, and what keys and the mouse do to its own state (cursor, scroll, filter)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

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
    method of the daemon), say (a line for the footer)."""

    do: str
    arguments: tuple[str, ...] = ()


class Page(Protocol):
    """`name` is the word of the command palette; `needs`: what the feed must fetch while the page is shown (methods of the
    API: processes, rules, logs, ...)."""

    name: str
    title: str
    needs: tuple[str, ...]

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        """At most `frame.height` rows; the rest of the screen stays empty."""
        ...

    def key(self, key: str, picture: Picture) -> Request | None:
        """A key by its name in Textual (`down`, `enter`, `j`, ...)."""
        ...

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        """A click on a cell of the frame that was drawn last."""
        ...

    def hints(self) -> tuple[tuple[str, str], ...]:
        """The page's own keys, for the footer and the help: (key, what it does)."""
        ...
