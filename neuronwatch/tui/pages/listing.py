"""A list with a cursor, for pages: what is shown of it, and its keys. Its items stay with the picture."""

from __future__ import annotations

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Span

_MOVES = {"down": 1, "j": 1, "up": -1, "k": -1}


class Listing:
    """`cursor`: number of the chosen item; `top`: of the first that is shown; `room`: how many were shown last."""

    def __init__(self) -> None:
        self.cursor = 0
        self.top = 0
        self.room = 1
        self.count = 0

    def window(self, count: int, room: int) -> range:
        """The numbers of the items to show in `room` rows, with the cursor among them."""
        self.count, self.room = count, max(1, room)
        self.cursor = min(max(0, self.cursor), max(0, count - 1))
        if self.cursor < self.top:
            self.top = self.cursor
        if self.cursor >= self.top + self.room:
            self.top = self.cursor - self.room + 1
        self.top = min(max(0, self.top), max(0, count - self.room))
        return range(self.top, min(count, self.top + self.room))

    def sign(self, place: int, glyphs: Glyphs) -> Span:
        """What stands in front of an item: the cursor, or as many blanks."""
        return Span((glyphs.cursor if place == self.cursor else " ") + " ", "key")

    def key(self, key: str) -> bool:
        """Moves the cursor; says whether the key was one of its own."""
        if key in _MOVES:
            self.cursor += _MOVES[key]
        elif key in ("pagedown", "ctrl+f", "ctrl+d"):
            self.cursor += self.room
        elif key in ("pageup", "ctrl+b", "ctrl+u"):
            self.cursor -= self.room
        elif key in ("home", "g"):
            self.cursor = 0
        elif key in ("end", "G", "shift+g"):
            self.cursor = self.count - 1
        else:
            return False
        self.cursor = min(max(0, self.cursor), max(0, self.count - 1))
        return True

    def choose(self, number: int) -> bool:
        """Puts the cursor on an item; says whether there is one."""
        if 0 <= number < self.count:
            self.cursor = number
            return True
        return False
