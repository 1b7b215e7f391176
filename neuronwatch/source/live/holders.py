"""Who holds the Neuron devices, shared by the sources of one host: the process source finds it out, neuron-ls wants to know."""

from __future__ import annotations

from neuronwatch.source.live.signal_pipe import SignalPipe


class Holders:
    def __init__(self) -> None:
        self.pids: frozenset[int] = frozenset()
        self.changed = SignalPipe()

    def are(self, pids: frozenset[int]) -> None:
        """For the process source."""
        if pids != self.pids:
            self.pids = pids
            self.changed.set()
