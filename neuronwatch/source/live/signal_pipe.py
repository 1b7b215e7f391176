"""One source tells another that it should look again: a descriptor for the loop to watch."""

from __future__ import annotations

import contextlib
import os


class SignalPipe:
    """`descriptor` is readable after `set`, until `clear`. Who looks first clears, then looks: what is set in the meantime is
    seen by the next look, also where nobody watches the descriptor during the look."""

    def __init__(self) -> None:
        self._read = self._write = -1

    @property
    def descriptor(self) -> int:
        self._open()
        return self._read

    def set(self) -> None:
        """For any thread; nothing where nobody watches."""
        if self._write >= 0:
            with contextlib.suppress(OSError):
                os.write(self._write, b"\0")

    def clear(self) -> None:
        self._open()
        with contextlib.suppress(OSError):
            os.read(self._read, 4096)

    def _open(self) -> None:
        if self._read < 0:
            self._read, self._write = os.pipe()
            os.set_blocking(self._read, False)
            os.set_blocking(self._write, False)

    def close(self) -> None:
        read, write, self._read, self._write = self._read, self._write, -1, -1
        for descriptor in (read, write):
            if descriptor >= 0:
                os.close(descriptor)
