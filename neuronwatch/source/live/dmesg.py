"""`dmesg -w` as our child, for a host whose kernel log is in no file."""

from __future__ import annotations

import time

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent
from neuronwatch.source.live.child import Child
from neuronwatch.source.live.positions import Positions

LAST = "dmesg"
PATIENCE = 10.0
SETTLES = 1.0
"""Seconds in which the ring, which comes first at each start, holds the line that was read last."""


class Dmesg:
    """Lines since the last one that was read; after a restart too, where the ring still holds it."""

    def __init__(self, root: HostRoot, positions: Positions) -> None:
        self._positions = positions
        self._child = Child(root, ["dmesg", "-w"])
        self._began = 0.0
        self.heard = False
        self._held: list[bytes] | None = None

    def lines(self) -> list[bytes]:
        """What came since. Raises Absent or Broken."""
        if not self._child.alive:
            self._child.start()
            self._began, self.heard = time.monotonic(), False
            self._held = [] if self._positions.values.get(LAST) else None
        found = [line + b"\n" for line in self._child.lines()]
        self.heard = self.heard or bool(found)
        age = time.monotonic() - self._began
        if not self.heard and age > PATIENCE:
            self._child.kill("dmesg gave nothing")
            raise Absent("dmesg: it gives nothing")
        if self._held is not None:
            found = self._behind_last([*self._held, *found], age)
        if found:
            self._positions.values[LAST] = found[-1].decode("latin-1")
        return found

    def _behind_last(self, lines: list[bytes], age: float) -> list[bytes]:
        last = str(self._positions.values.get(LAST)).encode("latin-1", "replace")
        if last in lines:
            self._held = None
            return lines[len(lines) - lines[::-1].index(last) :]
        if age < SETTLES:
            self._held = lines
            return []
        self._held = None  # another boot, or it is long overwritten
        return lines

    @property
    def waits(self) -> bool:
        """Whether lines are held until it is known which of them are new."""
        return bool(self._held)

    def descriptors(self) -> tuple[int, ...]:
        return self._child.descriptors()

    def close(self) -> None:
        self._child.kill("ended")
