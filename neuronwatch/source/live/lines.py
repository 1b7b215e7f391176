"""What a child says line by line (the journal, dmesg), as a text under one path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended
from neuronwatch.source.live.api import Now
from neuronwatch.source.live.flood import Flood


class Reader(Protocol):
    """`lines` raises Absent or Broken."""

    @property
    def heard(self) -> bool: ...

    def lines(self) -> list[bytes]: ...

    def descriptors(self) -> Sequence[int]: ...

    def close(self) -> None: ...


class Lines:
    """Lines of a child, shown under one path."""

    def __init__(self, reader: Reader, path: str, flood: Flood) -> None:
        self._reader = reader
        self._path = path
        self._flood = flood
        self._fresh = True

    @property
    def heard(self) -> bool:
        return self._reader.heard

    def read(self, now: Now) -> list[Appended]:
        lines = self._reader.lines()
        found = []
        if lines:
            found = self._flood.take(Appended(self._path, b"".join(lines), self._fresh), now.mono)
            self._fresh = False
        return [*found, *self._flood.due(now.mono)]

    def reports(self) -> Sequence[SourceReport] | None:
        return None

    def descriptors(self) -> Sequence[int]:
        return self._reader.descriptors()

    def close(self) -> None:
        self._reader.close()
