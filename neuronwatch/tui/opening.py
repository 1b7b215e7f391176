"""The first moments of the screen: a frame before Textual is loaded, which takes longer than everything else together.

Entered, it takes the terminal and draws what is known: that it waits, and the first answer as soon as it is there. It is a feed
itself: when the program starts it, the program draws, and it only passes on. Left, the terminal is as it was, also where the
program never began.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

from neuronwatch.tui.ansi import text
from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.feed.api import Feed, Tell
from neuronwatch.tui.frame import MOST, compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.terminal import Terminal
from neuronwatch.tui.theme import Theme
from neuronwatch.tui.view.picture import Picture

TAKE = "\x1b[?1049h\x1b[?25l\x1b[2J"
GIVE = "\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b[?25h"
"""Mouse, focus and paste reports off, the screen from before, the cursor."""


ENDS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)
STOPS = tuple(number for name in ("SIGTSTP",) if (number := getattr(signal, name, None)) is not None)
"""Not before the program is there, which gives the terminal back first (tui/suspend.py)."""


class Opening:
    """`page`: the name of the first page. A terminal without a size is left alone."""

    def __init__(self, feed: Feed, glyphs: Glyphs, theme: Theme, page: str) -> None:
        self.picture = Picture()
        self.terminal = Terminal()
        self._feed = feed
        self._glyphs = glyphs
        self._theme = theme
        self._pages = book.pages()
        self._page = next((item for item in self._pages if item.name == page), self._pages[0])
        self._lock = threading.Lock()
        self._tell: Tell | None = None
        self._given = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Opening:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, _ended) for number in ENDS}
            self._before |= {number: signal.signal(number, signal.SIG_IGN) for number in STOPS}
        try:
            self.terminal.quiet()
            _write(TAKE)
            self._draw()
            self._feed.need(self._page.needs())
            self._feed.start(self._told)
        except BaseException:
            self._give()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:  # nothing is drawn any more
            if kind is not None or self._tell is None:
                self._give()
            self._given = True
        self.terminal.restore()
        self._feed.close()
        for number, before in self._before.items():
            signal.signal(number, before)

    # The feed that the program sees

    def start(self, tell: Tell) -> None:
        """From now on the program draws. What was told before is in `picture`."""
        with self._lock:
            self._tell = tell

    def need(self, names: tuple[str, ...]) -> None:
        self._feed.need(names)

    def call(self, method: str, **params: Any) -> Any:
        return self._feed.call(method, **params)

    def close(self) -> None:
        self._feed.close()

    # Inside

    def _told(self, found: list[tuple[str, Any]]) -> None:
        with self._lock:
            tell = self._tell
            if tell is None and not self._given:
                for name, data in found:
                    self.picture.apply(name, data)
                self._draw()
        if tell is not None:
            tell(found)

    def _draw(self) -> None:
        try:
            size = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
        except (OSError, ValueError):
            return
        if size.columns > 0 and size.lines > 0:
            width, height = min(size.columns, MOST[0]), min(size.lines, MOST[1])
            rows = compose(self.picture, self._page, self._pages, width, height, self._glyphs)
            lines = text(rows, self._theme).splitlines()
            _write("".join(f"\x1b[{number};1H{line}" for number, line in enumerate(lines, 1)))

    def _give(self) -> None:
        _write(GIVE)
        self.terminal.restore()


def _ended(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _write(text: str) -> None:
    """To the terminal at once; one that is gone is met again by whoever reads it."""
    data = text.encode("utf-8", "replace")
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.__stdout__.fileno() if sys.__stdout__ else 1
        while data:
            data = data[os.write(descriptor, data) :]
