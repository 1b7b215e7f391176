"""How often a file is read that is written to all the time: at once while it is quiet, then the longer the pauses, the longer
it lasts.

A file whose news come closer together than a moment rests: nobody asks to be told of them (`Follower` mutes its watch), it is
read when its rest is over. When a rest brought nothing, it is quiet again: its next line is read at once.
"""

from __future__ import annotations

CLOSE = 0.010
"""Seconds between two reads of a file, at least."""
RESTS = ((4, CLOSE), (12, 0.025))
"""So many rests in a row are so long,"""
LONGEST = 0.040
"""and all that follow so long: a few dozen reads a second, far below the time from a line to its finding."""


class _Rest:
    __slots__ = ("due", "turns")

    def __init__(self, due: float) -> None:
        self.due = due
        self.turns = 0


class Rests:
    """Of all files of a follower, by path. Times are the machine's seconds, which only grow."""

    def __init__(self) -> None:
        self._read_at: dict[str, float] = {}
        self._resting: dict[str, _Rest] = {}

    def at_once(self, path: str, now: float) -> bool:
        """There is news in a file: whether it is read now. Else it rests."""
        if path in self._resting:
            return False
        read_at = self._read_at.get(path, float("-inf"))
        if now - read_at >= CLOSE:
            return True
        self._resting[path] = _Rest(read_at + CLOSE)
        return False

    def rests(self, path: str) -> bool:
        return path in self._resting

    def over(self, now: float) -> list[str]:
        """The files whose rest is over."""
        return [path for path, rest in self._resting.items() if rest.due <= now]

    def due(self) -> float:
        """When the next rest is over; infinite: none is resting."""
        return min((rest.due for rest in self._resting.values()), default=float("inf"))

    def was_read(self, path: str, news: bool, now: float) -> bool:
        """A file was read, with or without `news`; whether its rest ended: it is to be watched again, and read once more for
        what came before it was."""
        self._read_at[path] = now
        rest = self._resting.get(path)
        if rest is None:
            return False
        if not news:
            if rest.due > now:  # somebody looked in between
                return False
            del self._resting[path]
            return True
        rest.turns += 1
        rest.due = now + next((seconds for turns, seconds in RESTS if rest.turns <= turns), LONGEST)
        return False

    def forget(self, path: str) -> None:
        self._read_at.pop(path, None)
        self._resting.pop(path, None)
