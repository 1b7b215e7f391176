"""Who holds the Neuron devices, shared by the sources of one host: the process source finds it out, neuron-ls wants to know."""

from __future__ import annotations

import contextlib
import os


class Holders:
    """`changed` is readable after the set of holders changed, until `seen` was called."""

    def __init__(self) -> None:
        self.pids: frozenset[int] = frozenset()
        self._read = self._write = -1

    @property
    def changed(self) -> int:
        if self._read < 0:
            self._read, self._write = os.pipe()
            os.set_blocking(self._read, False)
            os.set_blocking(self._write, False)
        return self._read

    def are(self, pids: frozenset[int]) -> None:
        """For the process source."""
        if pids != self.pids:
            self.pids = pids
            if self._write >= 0:
                with contextlib.suppress(OSError):
                    os.write(self._write, b"\0")

    def seen(self) -> None:
        if self._read >= 0:
            with contextlib.suppress(OSError):
                os.read(self._read, 4096)

    def close(self) -> None:
        read, write, self._read, self._write = self._read, self._write, -1, -1
        for descriptor in (read, write):
            if descriptor >= 0:
                os.close(descriptor)
