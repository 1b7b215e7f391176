"""What a feed is: something that gives events to the picture until it is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from neuronwatch.tui.view.picture import Picture

Tell = Callable[[list[tuple[str, Any]]], None]
"""Takes events for `Picture.apply`, several at once. For any thread."""


class Feed(Protocol):
    def start(self, tell: Tell) -> None:
        """Begins to tell, in a thread of its own."""
        ...

    def need(self, names: tuple[str, ...]) -> None:
        """What the shown page needs beyond samples, incidents and health."""
        ...

    def call(self, method: str, **params: Any) -> Any:
        """A method of the daemon, now, for an action of the user. Raises NoDaemon, ApiError."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Keeps(Protocol):
    """A feed that can tell of the past."""

    def past(self, now: Picture, at: float) -> Picture:
        """The host at an earlier moment (seconds since the epoch); `now` is what is known of the present. Takes a moment. Raises
        NoDaemon, ApiError."""
        ...


@runtime_checkable
class Seeks(Protocol):
    """A feed that goes to another moment by itself: a recording."""

    def seek(self, step: float) -> None:
        """So many seconds back or forth."""
        ...

    def pause(self, on: bool) -> None: ...
