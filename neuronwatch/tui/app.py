"""The program: takes events from the feed, keys from the user, and shows the frame. Everything else is elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from textual import events
from textual.app import App, ComposeResult

from neuronwatch.tui.canvas import Canvas
from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.feed.api import Feed
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.pages.api import Page, Request
from neuronwatch.tui.theme import THEMES
from neuronwatch.tui.view.picture import Link, Picture

TICK = 1.0
SAYS = 4.0
"""Seconds for which a word to the user stays in the footer."""


class Dashboard(App[None]):
    """`page`: the name of the first page; `rate`: frames a second when there is news."""

    CSS = "Screen { layers: base; overflow: hidden; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, feed: Feed, glyphs: Glyphs, theme: str = "dark", page: str = "overview", rate: float = 1.0) -> None:
        super().__init__()
        self._feed = feed
        self._glyphs = glyphs
        self._colours = theme
        self._pages: Sequence[Page] = book.pages()
        self._page = next((item for item in self._pages if item.name == page), self._pages[0])
        self._picture = Picture()
        self._waiting: deque[tuple[str, Any]] = deque()
        self._lock = threading.Lock()
        self._told = time.monotonic()
        self._said: tuple[float, str] = (0.0, "")
        self._held: Link | None = None
        self._pace = 1.0 / max(0.1, rate)
        self._shown = 0.0
        self._canvas = Canvas(THEMES[theme], self._clicked, self._scrolled)

    def compose(self) -> ComposeResult:
        yield self._canvas

    def on_mount(self) -> None:
        self._canvas.focus()
        self._feed.need(self._page.needs)
        self._feed.start(self._tell)
        self.set_interval(self._pace, self._tick)

    def on_unmount(self) -> None:
        self._feed.close()

    # News

    def _tell(self, found: list[tuple[str, Any]]) -> None:
        """Called by the feed's thread. The frame follows with the next tick, at once where the user must know."""
        with self._lock:
            self._waiting.extend(found)
        if any(name in ("link", "incidents") for name, _ in found) or not self._picture.version:
            self.call_from_thread(self._tick)

    def _tick(self) -> None:
        with self._lock:
            found, self._waiting = self._waiting, deque()
        now = time.monotonic()
        paused = self._held is not None
        if paused:  # what came meanwhile waits: the picture stands still
            with self._lock:
                found.extend(self._waiting)
                self._waiting = found
                while len(self._waiting) > 2000:
                    self._waiting.popleft()
        else:
            for name, data in found:
                self._picture.apply(name, data)
            if not any(name == "time" for name, _ in found) and self._picture.now:
                self._picture.apply("time", self._picture.now + (now - self._told))
        self._told = now
        self.draw()

    def draw(self) -> None:
        size = self._canvas.size
        said = self._said[1] if time.monotonic() < self._said[0] else ""
        self._canvas.show(compose(self._picture, self._page, self._pages, size.width, size.height, self._glyphs, said))

    def on_resize(self, _event: events.Resize) -> None:
        self.call_after_refresh(self.draw)

    # Keys and the mouse

    async def on_key(self, event: events.Key) -> None:
        key = (
            event.character
            if event.character and event.character.isprintable() and len(event.character) == 1 and event.character != " "
            else event.key
        )
        if key in ("q", "ctrl+c", "ctrl+q"):
            self.exit()
            return
        event.stop()
        if key == "space":
            self._pause()
        elif key.isdecimal() and 1 <= int(key) <= len(self._pages):
            self._open(self._pages[int(key) - 1].name)
        else:
            self._answer(self._page.key(key, self._picture))
        self.draw()

    def _clicked(self, x: int, y: int) -> None:
        if y == 1:
            self._open(book.tab_at(self._pages, self._page, x, self._canvas.size.width))
        elif y >= 2:
            self._answer(self._page.click(x, y - 2, self._picture))
        self.draw()

    def _scrolled(self, lines: int) -> None:
        for _ in range(abs(lines)):
            self._page.key("down" if lines > 0 else "up", self._picture)
        self.draw()

    def _answer(self, request: Request | None) -> None:
        if request is None:
            return
        if request.do == "open":
            self._open(*request.arguments)
        elif request.do == "say":
            self.say(request.arguments[0])

    def _open(self, name: str, *subject: str) -> None:
        page = next((item for item in self._pages if item.name == name), None)
        if page is None:
            return
        self._page = page
        if subject:
            page.key(f"show {subject[0]}", self._picture)
        self._feed.need(page.needs)

    def _pause(self) -> None:
        if self._held is None:
            self._held = self._picture.link
            self._picture.apply("link", Link("paused", self._picture.now))
        else:
            self._picture.apply("link", self._held)
            self._held = None

    def say(self, text: str) -> None:
        self._said = (time.monotonic() + SAYS, text)
