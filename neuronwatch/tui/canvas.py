"""The one widget: it holds the rows of the last frame and draws only those that changed."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from neuronwatch.tui.draw.row import Row
from neuronwatch.tui.frame import MOST
from neuronwatch.tui.theme import Theme, look


class Canvas(Widget, can_focus=True):
    """`clicked(x, y)`, `scrolled(lines)`: what the mouse did."""

    DEFAULT_CSS = f"Canvas {{ width: 1fr; height: 1fr; max-width: {MOST[0]}; max-height: {MOST[1]}; }}"

    def __init__(self, theme: Theme, clicked: Callable[[int, int], None], scrolled: Callable[[int], None]) -> None:
        super().__init__()
        self._theme = theme
        self._clicked = clicked
        self._scrolled = scrolled
        self._rows: list[Row] = []
        self._styles: dict[str, Style] = {}
        self.drawn = 0
        """Rows that were drawn anew, since the start."""

    def wear(self, theme: Theme) -> None:
        self._theme = theme
        self._styles.clear()
        self.refresh()

    def show(self, rows: list[Row]) -> None:
        """The rows of a new frame. Only what differs from the last one is drawn: runs of rows together."""
        before, self._rows = self._rows, rows
        if len(before) != len(rows):
            self.refresh()
            return
        changed = [number for number, (old, new) in enumerate(zip(before, rows, strict=True)) if old != new]
        self.drawn += len(changed)
        width = self.size.width
        for first, length in _runs(changed):
            self.refresh(Region(0, first, width, length))

    def render_line(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self._style(""))
        return Strip([Segment(part.text, self._style(part.style)) for part in self._rows[y]], self.size.width)

    def _style(self, words: str) -> Style:
        style = self._styles.get(words)
        if style is None:
            found = look(self._theme, words)
            style = Style(color=found.colour or None, bgcolor=found.ground or None, bold=found.bold or None, dim=found.dim or None,
                          reverse=found.reverse or None, underline=found.underline or None)  # fmt: skip
            self._styles[words] = style
        return style

    def on_click(self, event: events.Click) -> None:
        self._clicked(event.x, event.y)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scrolled(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scrolled(-3)
        event.stop()


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Numbers in order as (first, length) of runs without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][0] + found[-1][1] == number:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found
