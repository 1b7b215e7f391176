"""Time travel of the program: which moment is shown, and the asking for it, which takes a while."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuronwatch.daemon.client import NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.tui.draw import units
from neuronwatch.tui.feed.api import Feed, Keeps, Seeks
from neuronwatch.tui.view.picture import Picture
from neuronwatch.tui.view.values import ODD

if TYPE_CHECKING:
    from neuronwatch.tui.app import Dashboard

STEPS = {"[": -10.0, "]": 10.0, "{": -300.0, "}": 300.0}
"""Keys, and how many seconds they go."""


class Travel:
    """`feed`: what knows of other moments; `now`: the picture of now, which goes on meanwhile. `at`: the moment that is wanted,
    None: now."""

    def __init__(self, app: Dashboard, feed: Feed, now: Picture) -> None:
        self.at: float | None = None
        self._app = app
        self._feed = feed
        self._now = now
        self._looking = False

    def pause(self, on: bool) -> None:
        """A recording stops, so that it goes on where it stood."""
        if isinstance(self._feed, Seeks):
            self._feed.pause(on)

    def step(self, seconds: float) -> None:
        """To an earlier or a later moment; past the end is now."""
        if isinstance(self._feed, Seeks):
            self._app.go_on()
            self._feed.seek(seconds)
            return
        if not isinstance(self._feed, Keeps):
            self._app.say("nothing is kept of the past here")
            return
        if not self._now.now:
            return
        at = (self._now.now if self.at is None else self.at) + seconds
        if at >= self._now.now:
            self.end()
            return
        self.at = at
        if not self._looking:
            self._look(self._feed, at)

    def end(self) -> None:
        """Back to now."""
        self.at = None
        self._app.picture = self._now

    def _look(self, feed: Keeps, at: float) -> None:
        self._looking = True
        self._app.run_worker(partial(self._ask, feed, at), thread=True, exit_on_error=True)

    def _ask(self, feed: Keeps, at: float) -> None:
        """In a thread of its own."""
        try:
            found = feed.past(self._now, at)
        except (NoDaemon, ApiError, OSError, *ODD) as error:
            self._app.call_from_thread(self._failed, f"the past cannot be asked: {error}")
            return
        self._app.call_from_thread(self._arrive, found, at, feed)

    def _arrive(self, found: Picture, at: float, feed: Keeps) -> None:
        self._looking = False
        if self.at is None:
            return
        ago = units.span(max(0.0, self._now.now - found.now))
        found.apply("caption", f"{ago} before now; versions and commands are as of now")
        self._app.picture = found
        self._app.draw()
        if self.at != at:  # keys went on meanwhile
            self._look(feed, self.at)

    def _failed(self, why: str) -> None:
        self._looking = False
        self.at = None if self._app.picture is self._now else self._app.picture.now
        self._app.say(why)
