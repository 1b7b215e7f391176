"""The last lines of followed texts, for `logs` of the API and for the bundle of an incident. Bounded."""

from __future__ import annotations

from array import array
from bisect import bisect_right

OF_ONE = 64 * 1024
OF_ALL = 2 * 1024 * 1024
"""Bytes."""
MOST_NUMBERED = 4096
"""Texts whose next line number is remembered."""
MOST_TIMES = 512
"""Times of arrival that are remembered of one text."""


class Tails:
    def __init__(self) -> None:
        self._texts: dict[str, bytearray] = {}
        self._dropped: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._came: dict[str, tuple[array[int], array[int]]] = {}
        """Numbers of lines, and the second in which each and those behind it came."""
        self._size = 0

    def add(self, path: str, data: bytes, dropped: int = 0, fresh: bool = False, line: int = 1, now: float = 0.0) -> None:
        """Lines that a text gained; `dropped` were left out in front of them. `fresh`, `line`: as of `Appended`. `now`: seconds
        since the epoch; 0: not known."""
        known = self._next.pop(path, None)
        self._arrived(path, known, line if fresh or known is None else known, fresh, int(now))
        self._next[path] = (line if fresh or known is None else known) + dropped + data.count(b"\n")
        if len(self._next) > MOST_NUMBERED:
            del self._next[next(iter(self._next))]
        text = self._texts.pop(path, None)  # the text that spoke last is the last one in the table
        if text is None:
            text = bytearray()
        self._size -= len(text)
        text += data[-OF_ONE:]
        if len(text) > OF_ONE:
            cut = text.find(b"\n", len(text) - OF_ONE - 1) + 1
            del text[: cut or len(text) - OF_ONE]
        self._texts[path] = text
        self._size += len(text)
        if dropped:
            self._dropped[path] = self._dropped.get(path, 0) + dropped
        while self._size > OF_ALL:
            self.forget(next(iter(self._texts)))

    def _arrived(self, path: str, known: int | None, first: int, fresh: bool, now: int) -> None:
        """Lines of a text that we did not know were there before: nobody knows since when."""
        lines, times = self._came.setdefault(path, (array("L"), array("L")))
        if fresh:
            del lines[:], times[:]
        came = now if known is not None else 0
        if not times or times[-1] != came:
            lines.append(max(0, first))
            times.append(came)
            if len(times) > MOST_TIMES:
                del lines[: MOST_TIMES // 2], times[: MOST_TIMES // 2]

    def came(self, path: str, line: int) -> int | None:
        """The second (since the epoch) in which a line came; None: not known."""
        lines, times = self._came.get(path, ((), ()))
        place = bisect_right(lines, line) - 1
        return (times[place] or None) if place >= 0 and line else None

    def next_line(self, path: str) -> int:
        """The number of the line that the text gets next, in the count of its evidence; 0: not known."""
        return self._next.get(path, 0)

    def forget(self, path: str) -> None:
        """Drops the lines of a text. The number of its next line stays known: it may go on."""
        self._size -= len(self._texts.pop(path, b""))
        self._dropped.pop(path, None)
        self._came.pop(path, None)

    def paths(self) -> list[str]:
        return sorted(self._texts)

    def text(self, path: str) -> bytes:
        return bytes(self._texts.get(path, b""))

    def lines(self, path: str, count: int) -> list[str]:
        """The last lines of a text, oldest first."""
        text = bytes(self._texts.get(path, b"")).decode("utf-8", "replace")
        return text.split("\n")[:-1][-count:] if text.endswith("\n") else text.split("\n")[-count:] if text else []

    def dropped(self, path: str) -> int:
        return self._dropped.get(path, 0)
