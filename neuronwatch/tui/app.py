"""The program: takes events from the feed, keys from the user, and shows the frame. Everything else is elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from textual import events, work
from textual.app import App, ComposeResult
from textual.driver import Driver

from neuronwatch.daemon.client import NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.tui.canvas import Canvas
from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.feed.api import Feed
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.pages.api import Page, Request
from neuronwatch.tui.pages.palette import Command, Palette
from neuronwatch.tui.suspend import Suspension, watched
from neuronwatch.tui.terminal import Terminal
from neuronwatch.tui.theme import THEMES
from neuronwatch.tui.travel import STEPS, Travel
from neuronwatch.tui.view.picture import Link, Picture
from neuronwatch.tui.view.values import ODD

SAYS = 4.0
"""Seconds for which a word to the user stays in the footer."""
MAX_HELD = 4000
"""Events that wait while the picture is paused; of more the oldest samples are left out."""
HUNG_UP = 129
"""Exit status where the terminal is gone, as of a process that SIGHUP ended."""
GIVES_UP = 2.0
"""Seconds in which it must have ended by itself then."""
WORK, BETWEEN = 0.010, 0.030
"""Seconds for which a page works (a search) at a time, and between two times."""
MOVES = {"left": "h", "right": "l"}


class Dashboard(App[None]):
    """`page`: the name of the first page; `rate`: frames a second; `traveller`: what goes to other moments, where `feed` only
    passes on what another one tells; `terminal`: as it was before the first frame."""

    CSS = "Screen { overflow: hidden; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        feed: Feed,
        glyphs: Glyphs,
        theme: str = "dark",
        page: str = "overview",
        rate: float = 1.0,
        picture: Picture | None = None,
        traveller: Feed | None = None,
        terminal: Terminal | None = None,
    ) -> None:
        super().__init__(ansi_color=True)  # the sixteen colours are the terminal's own
        self._feed = feed
        self._glyphs = glyphs
        self._colours = theme
        self.pages: list[Page] = book.pages()
        self.page = next((item for item in self.pages if item.name == page), self.pages[0])
        self.picture = self._live = picture or Picture()
        """What is shown, and what is now: two while we are in the past. What is known may be known before the feed is started
        (tui/opening.py)."""
        self._travel = Travel(self, feed if traveller is None else traveller, self._live)
        self._terminal = terminal or Terminal()
        self._suspension = Suspension(self, self._terminal)
        self._before: list[Page] = []
        self._waiting: deque[tuple[str, Any]] = deque()
        self._lock = threading.Lock()
        self._told = time.monotonic()
        self._said: tuple[float, str] = (0.0, "")
        self._held: Link | None = None
        self._typing: str | None = None
        self._help = False
        self._palette: Palette | None = None
        self._working = False
        self._interval = 1.0 / max(0.1, rate)
        self._canvas = Canvas(THEMES[theme], self._clicked, self._scrolled)

    def compose(self) -> ComposeResult:
        yield self._canvas

    def on_mount(self) -> None:
        self._canvas.focus()
        self._feed.need(self.page.needs())
        self._feed.start(self._tell)
        self.set_interval(self._interval, self._tick)
        if not self.is_headless:
            threading.Thread(
                target=self._end_with_the_terminal, args=(asyncio.get_running_loop(),), name="terminal", daemon=True
            ).start()

    def _end_with_the_terminal(self, loop: asyncio.AbstractEventLoop) -> None:
        """Textual waits for ever to write to a terminal that is gone, and reads from it without a pause."""
        if self._terminal.wait_until_gone():
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.exit, None, HUNG_UP)
            time.sleep(GIVES_UP)
            self._feed.close()
            os._exit(HUNG_UP)

    def get_driver_class(self) -> type[Driver]:
        """The terminal's driver, with our handlers of signals in place before it takes the terminal."""
        return watched(super().get_driver_class(), lambda driver: self._suspension.watch(driver))

    def on_load(self) -> None:
        """Before there is a driver."""
        self._end_on_signals()

    def _end_on_signals(self) -> None:
        """Who is told to end gives the terminal back first."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread; Windows
                asyncio.get_running_loop().add_signal_handler(number, partial(self.exit, None, 128 + number))

    def on_unmount(self) -> None:
        self._feed.close()

    # News

    def _tell(self, found: list[tuple[str, Any]]) -> None:
        """Called by the feed's thread. The frame follows with the next tick, at once where the user must know."""
        with self._lock:
            self._waiting.extend(found)
        if self.is_running and (
            any(name in ("link", "incidents", "evidence", "logs") for name, _ in found) or not self._live.version
        ):
            self.call_from_thread(self._tick)

    def _tick(self) -> None:
        now = time.monotonic()
        with self._lock:
            if self._held is None:
                found, self._waiting = self._waiting, deque()
            else:  # what comes meanwhile waits: the picture stands still
                found = deque()
                while len(self._waiting) > MAX_HELD:
                    self._waiting.popleft()
        for name, data in found:
            if name == "link" and self._held is not None:
                self._held = data
            else:
                self._live.apply(name, data)
                if name == "evidence" and self.picture is not self._live:
                    self.picture.apply(name, data)
        runs = self._held is None and self._live.link.what != "replay"
        if runs and self._live.now and not any(name == "time" for name, _ in found):
            self._live.apply("time", self._live.now + (now - self._told))  # ages grow also when nobody tells anything
        self._told = now
        self.draw()
        self._feed.need(self.page.needs())  # a page knows what it needs only once it has drawn what there is

    def draw(self) -> None:
        size = self._canvas.size
        said = self._said[1] if time.monotonic() < self._said[0] else ""
        if self._typing is not None:
            said = f"/ {self._typing}_   (enter keeps it, escape ends it)"
        self._canvas.show(
            compose(self.picture, self.page, self.pages, size.width, size.height, self._glyphs, said, self._help, self._palette)
        )

        if self.page.busy and not self._working:
            self._working = True
            self.set_timer(BETWEEN, self._work)

    def _work(self) -> None:
        """A part of what the page has to do, then a frame that shows how far it is."""
        self._working = False
        self.page.work(self.picture, WORK)
        self.draw()

    def on_resize(self, _event: events.Resize) -> None:
        self.call_after_refresh(self.draw)

    # Keys and the mouse

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        character = event.character
        key = character if character and character.isprintable() and character != " " else event.key
        if self._palette is not None:
            self._choose(event.key, character)
        elif self._typing is not None:
            self._type(event.key, character)
        elif key in ("q", "ctrl+c", "ctrl+q"):
            self.exit()
        elif key == "ctrl+z":
            self._suspend()
        else:
            self._press(MOVES.get(key, key))
        self.draw()

    def _press(self, key: str) -> None:
        """A key outside of typing."""
        if self._help:
            self._help = False
            if key in ("?", "escape"):
                return
        if key == "?":
            self._help = True
        elif key in (":", "ctrl+p"):
            self._palette = Palette(self.pages, THEMES, self.picture)
        elif key == "T" or (key == "t" and not any(name == "t" for name, _ in self.page.hints())):
            self._wear(list(THEMES)[(list(THEMES).index(self._colours) + 1) % len(THEMES)])
        elif key == "space":
            self._pause()
        elif key == "/" and self.page.filters:
            self._typing = ""
        elif key == "y":
            self._copy(self.page.copied(self.picture))
        elif key in STEPS:
            self._travel.step(STEPS[key])
        elif key in ("escape", "end") and self._travel.at is not None:
            self._travel.end()
        elif key in ("tab", "shift+tab"):
            step = 1 if key == "tab" else -1
            self.open(self.pages[(self.pages.index(self.page) + step) % len(self.pages)].name)
        elif key == "escape" and self._before:
            self.page = self._before.pop()
            self._feed.need(self.page.needs())
        elif key.isdecimal() and 1 <= int(key) <= len(self.pages):
            self.open(self.pages[int(key) - 1].name)
        else:
            self._ask(lambda: self.page.key(key, self.picture))

    def _suspend(self) -> None:
        if not self._suspension.ask():
            self.say("nobody would continue us here: q quits")

    def _ask(self, act: Callable[[], Request | None]) -> None:
        """What a page makes of a key or a click. Odd data of a daemon must not end the program."""
        try:
            request = act()
        except ODD as error:
            request = Request("say", (f"not done: the daemon told something odd ({type(error).__name__}: {str(error)[:80]})",))
        self._answer(request)

    def _type(self, key: str, character: str | None) -> None:
        """A key while a filter is typed."""
        assert self._typing is not None
        if key in ("ctrl+c", "ctrl+q"):
            self.exit()
            return
        if key == "enter":
            self._typing = None
            return
        if key == "escape":
            self._typing = None
            self.page.filter("")
            return
        if key == "backspace":
            self._typing = self._typing[:-1]
        elif character is not None and character.isprintable() and len(self._typing) < 200:
            self._typing += character
        self.page.filter(self._typing)

    def _choose(self, key: str, character: str | None) -> None:
        """A key while the palette is open."""
        assert self._palette is not None
        if key in ("escape", "ctrl+c", "ctrl+p"):
            self._palette = None
        else:
            self._do(self._palette.key(key, character))

    def _do(self, command: Command | None) -> None:
        """What was chosen in the palette."""
        if command is None:
            return
        self._palette = None
        if command.do == "page":
            self.open(command.what)
        elif command.do == "incident":
            self.open("incidents", command.what)
        elif command.do == "theme":
            self._wear(command.what)
        elif command.what == "now":
            self._travel.end()
        elif command.what == "q":
            self.exit()
        else:
            self._press(command.what)

    def _wear(self, name: str) -> None:
        self._colours = name
        self._canvas.wear(THEMES[name])
        self.say(f"theme {name}")

    def on_paste(self, event: events.Paste) -> None:
        """Into the filter that is typed; nowhere else does pasted text mean anything."""
        event.stop()
        if self._typing is not None:
            self._typing = (self._typing + "".join(filter(str.isprintable, event.text)))[:200]
            self.page.filter(self._typing)
            self.draw()

    def _clicked(self, x: int, y: int) -> None:
        if self._palette is not None:
            self._do(self._palette.click(y - 2))
        elif y == 1:
            self.open(book.tab_at(self.pages, self.page, x, self._canvas.size.width))
        elif y >= 2:
            self._ask(lambda: self.page.click(x, y - 2, self.picture))
        self.draw()

    def _scrolled(self, lines: int) -> None:
        if self._palette is not None:
            self._palette.scroll(lines)
            self.draw()
            return
        for _ in range(abs(lines)):
            self._ask(lambda: self.page.key("down" if lines > 0 else "up", self.picture))
        self.draw()

    # What pages ask for

    def _answer(self, request: Request | None) -> None:
        if request is None:
            self._feed.need(self.page.needs())
        elif request.do == "open":
            self.open(*request.arguments)
        elif request.do == "copy":
            self._copy(request.arguments[0])
        elif request.do == "call" and self._travel.at is not None:
            self.say("this is the past: escape goes back to now")
        elif request.do == "call":
            self._call(request)
        else:
            self.say(request.arguments[0])

    def open(self, name: str, *subject: str) -> None:
        """Opens a page; `escape` comes back from one that was opened for a subject."""
        page = next((item for item in self.pages if item.name == name), None)
        if page is None:
            return
        self._typing = None  # what is typed belongs to the page that was left
        if subject:
            self._before = [*self._before[-20:], self.page]
            page.show(subject[0])
        else:
            self._before.clear()
        self.page = page
        self._feed.need(page.needs())

    @work(thread=True)
    def _call(self, request: Request) -> None:
        """An action of the user, outside of the drawing thread: the daemon may be slow."""
        method, done = request.arguments
        try:
            self._feed.call(method, **dict(request.parameters))
        except (NoDaemon, ApiError) as error:
            done = f"not done: {error}"
        self.call_from_thread(self.say, done)

    def _copy(self, text: str) -> None:
        if text:
            self.copy_to_clipboard(text)
            self.say(f"copied: {text}")
        else:
            self.say("there is nothing under the cursor to copy")

    def _pause(self) -> None:
        self._travel.pause(self._held is None)
        if self._held is None:
            self._held = self._live.link
            self._live.apply("link", Link("paused", self._live.now))
        else:
            self._live.apply("link", self._held)
            self._held = None
            self._tick()

    def go_on(self) -> None:
        """After a pause."""
        if self._held is not None:
            self._pause()

    def say(self, text: str) -> None:
        """A word to the user in the footer."""
        self._said = (time.monotonic() + SAYS, text)
        self.draw()
