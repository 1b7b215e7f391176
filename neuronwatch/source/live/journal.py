"""The journal of the old runtime daemon (neuron-rtd, on Inf1): it has no log of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.model.live import Delivery
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Now
from neuronwatch.source.live.flood import Flood, Sieve
from neuronwatch.source.live.journal_reader import JournalReader
from neuronwatch.source.live.lines import Lines
from neuronwatch.source.live.positions import Positions

UNITS = ("neuron-rtd.service", "neuron-rtd@*.service")
SIGNS = (
    "/opt/aws/neuron/bin/neuron-rtd", "/lib/systemd/system/neuron-rtd.service", "/usr/lib/systemd/system/neuron-rtd.service",
    "/etc/systemd/system/neuron-rtd.service",
)  # fmt: skip
PATH = "host:journalctl -u neuron-rtd"


class Journal:
    """Absent where there is no neuron-rtd. `state`: the file in which the cursor outlives a restart."""

    name = "neuron-rtd"
    budget = 30.0
    interval = 2.0
    mandatory = False
    blocking = False

    def __init__(self, root: HostRoot, *, state: Path | None = None, sieve: Sieve | None = None) -> None:
        self.flood = Flood(sieve)
        self._root = root
        self._state = state
        self._positions: Positions | None = None
        self._lines: Lines | None = None
        self._alive_at = float("-inf")

    def poll(self, now: Now) -> Delivery | None:
        if self._lines is None:
            if not any(self._root.exists(name) for name in SIGNS):
                raise Absent("this host has no neuron-rtd, the runtime daemon of Neuron 1.x")
            self._positions = Positions(self._state)
            match = [word for unit in UNITS for word in ("-u", unit)]
            self._lines = Lines(JournalReader(self._root, match, self._positions, "neuron-rtd"), PATH, self.flood)
        found = self._lines.read(now)
        if self._positions is not None:
            self._positions.save(dict, now.mono)
        if not found and now.mono - self._alive_at < self.budget / 3:
            return None
        self._alive_at = now.mono
        return Delivery(self.name, now.wall, appended=found)

    def descriptors(self) -> Sequence[int]:
        return self._lines.descriptors() if self._lines is not None else ()

    def close(self) -> None:
        lines, self._lines = self._lines, None
        if lines is not None:
            lines.close()
        if self._positions is not None:
            self._positions.save(dict, 0.0, force=True)
