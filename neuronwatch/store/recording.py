"""Plays a recording (capture.py): all deliveries again, in order, from any time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from neuronwatch.model.live import Delivery
from neuronwatch.store import timeline
from neuronwatch.store.errors import StoreError

_SEGMENT = re.compile(r"\d{6}" + re.escape(timeline.SUFFIX))


class Recording:
    """A recording to be played. Also of one that is still written, or whose writer was killed. Raises StoreError where there is
    none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "timeline"
        self.damaged = 0
        """Frames that could not be read so far."""
        try:
            names = sorted(name for name in os.listdir(self._directory) if _SEGMENT.fullmatch(name))
        except OSError as error:
            raise StoreError(
                f"{directory} is no recording: {error.strerror}", "name a directory made by `neuronwatch record`"
            ) from error
        if not names:
            raise StoreError(f"{directory} is a recording without a timeline", "diagnose it as evidence")
        self._names = names

    def span(self) -> tuple[float, float] | None:
        """Time of the first and of the last delivery, None: there is none."""
        first: float | None = None
        last = 0.0
        for name in self._names:
            with self._open(name) as file:
                for start, end in timeline.times(file):
                    first, last = (start if first is None else min(first, start)), max(last, end)
        return None if first is None else (first, last)

    def play(self, start: float | None = None) -> Iterator[Delivery]:
        """All deliveries in the order in which they came. `start` (seconds since the epoch): first how things stood then, as
        deliveries at that time (texts, facts, and followed texts with the number of their next line), then what came."""
        names = self._names
        if start is not None:
            names = self._from(start)
        for item in timeline.play(self._segments(names), start):
            if item is None:
                self.damaged += 1
            else:
                yield item

    def _from(self, start: float) -> list[str]:
        """The segments from the last one that begins before `start`."""
        chosen = 0
        for number, name in enumerate(self._names):
            with self._open(name) as file:
                first = next(timeline.times(file), None)
            if first is not None and first[0] < start:
                chosen = number
        return self._names[chosen:]

    def _open(self, name: str) -> IO[bytes]:
        path = self._directory / name
        try:
            return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}", "see to its owner and mode") from error

    def _segments(self, names: list[str]) -> Iterator[IO[bytes]]:
        for name in names:
            with self._open(name) as file:
                yield file
