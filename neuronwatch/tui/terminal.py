"""The terminal that we were started in: its modes as they were before us, and whether it is ours to draw on."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any


class Terminal:
    """Of the process's standard input. What is no terminal, and a system without termios, is left alone."""

    def __init__(self) -> None:
        self._attributes: list[Any] | None = None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._descriptor = sys.__stdin__.fileno()  # type: ignore[union-attr]
            self._attributes = _modes(self._descriptor)

    def quiet(self) -> None:
        """Keys that are pressed now wait for the program, unseen."""
        if self._attributes is not None:
            import termios

            changed = [*self._attributes]
            changed[3] &= ~(termios.ECHO | termios.ICANON)
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, changed)

    def restore(self) -> None:
        if self._attributes is not None:
            import termios

            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._attributes)

    def wait_until_gone(self) -> bool:
        """Returns when the terminal hangs up (its window was closed), False at once where there is none. Costs nothing."""
        import select

        if self._attributes is None or not hasattr(select, "poll"):
            return False
        waiting = select.poll()
        waiting.register(self._descriptor, 0)  # nothing is asked for: a hang-up is told all the same
        with contextlib.suppress(OSError):
            waiting.poll()
        return True

    def ours(self) -> bool:
        """Whether we are in front: who is in the background and draws is stopped by the system. Without job control we are."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except (OSError, AttributeError):
            return True


def _modes(descriptor: int) -> list[Any] | None:
    try:
        import termios
    except ImportError:
        return None
    try:
        return termios.tcgetattr(descriptor)
    except (OSError, termios.error):
        return None
