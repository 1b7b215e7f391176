"""Stopped and continued by the shell: the terminal is given back as it was before us, and taken anew.

Textual does half of it: it gives back the modes that it found, which are those of our first frame (tui/opening.py), and who is
continued without having been asked to stop (`kill -STOP`, a debugger) takes the terminal twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from neuronwatch.tui.terminal import Terminal

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver
SETTLED = 0.2
"""Seconds within which the event loop has told of all signals that came before."""


def watched(base: type[Driver], begins: Callable[[Driver], None]) -> type[Driver]:
    """A driver that says when it is made: then it has set its handlers of signals, and has not taken the terminal yet."""

    class Watched(base):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            begins(self)

    return Watched


class Suspension:
    def __init__(self, app: App[Any], terminal: Terminal) -> None:
        self._app = app
        self._terminal = terminal
        self._driver: Driver | None = None
        self._resumed = False
        """Whether words that we were continued are about what we noticed ourselves: one for each `bg` and `fg` meanwhile."""

    def watch(self, driver: Driver) -> None:
        """Takes the place of Textual's own handlers. Called in the event loop."""
        self._driver = driver
        for name, act in (("SIGTSTP", self._stop), ("SIGCONT", self._continued)):
            number = getattr(signal, name, None)
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread; Windows
                if number is not None:
                    asyncio.get_running_loop().add_signal_handler(number, act)

    def ask(self) -> bool:
        """As the terminal's own ctrl+z: everybody of our job stops. False: nobody would continue us here."""
        if self._driver is None or not self._driver.can_suspend or not hasattr(signal, "SIGTSTP"):
            return False
        os.killpg(0, signal.SIGTSTP)
        return True

    def _stop(self) -> None:
        self._leave()
        self._halt()
        self._enter()
        self._notice()

    def _halt(self) -> None:
        """Until somebody continues us, and in front: `bg` wakes us too."""
        while True:
            os.kill(os.getpid(), signal.SIGSTOP)
            if self._terminal.ours():
                return

    def _continued(self) -> None:
        if self._resumed:
            return
        # We were stopped without having been asked: the shell drew on our screen and set its own modes.
        self._leave()
        if not self._terminal.ours():
            self._halt()
        self._enter()
        self._notice()

    def _notice(self) -> None:
        """What the event loop has still to tell of the signals until now is known."""
        self._resumed = True
        asyncio.get_running_loop().call_later(SETTLED, self._settle)

    def _settle(self) -> None:
        self._resumed = False

    def _leave(self) -> None:
        if self._driver is not None:
            with contextlib.suppress(OSError):
                self._driver.suspend_application_mode()
            self._terminal.restore()

    def _enter(self) -> None:
        if self._driver is not None:
            self._driver.resume_application_mode()
            self._app.refresh(layout=True)
