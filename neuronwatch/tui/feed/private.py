"""A private daemon: a child that watches the host while `top` runs and nobody else does."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import MAX_SOCKET_PATH, ApiError
from neuronwatch.tui.feed.room import Room

START = 30.0
"""Seconds until a daemon that starts answers."""
LIVED = 20.0
"""Seconds after which a daemon that ended had begun well, and is started again at once."""


class Private:
    """`options`: further ones of `neuronwatch daemon` (`--host-root`, `--config`), with absolute paths."""

    def __init__(self, room: Room, options: Sequence[str] = ()) -> None:
        self.socket = room.directory / "s"
        self._room = room
        self._options = list(options)
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._began = 0.0
        self._pause = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        """Starts the daemon and does not wait for it."""
        self._began = time.monotonic()
        state = str(self._room.directory / "state")
        self._process = self._room.start("daemon", ["daemon", *self._options, "--state-dir", state, "--socket", str(self.socket)])

    def revive(self) -> None:
        """Starts it where it does not run, and waits until it answers. Raises NoDaemon where it does not."""
        if self._process is None or self._process.poll() is not None:
            lived = time.monotonic() - self._began
            if self._process is not None and lived < LIVED:
                self._pause = min(30.0, self._pause * 2 or 1.0)
                if self._ended.wait(self._pause):
                    return
            else:
                self._pause = 0.0
            self.start()
        assert self._process is not None
        due = time.monotonic() + START
        while not answers(self.socket):
            if self._process.poll() is not None:
                raise NoDaemon(
                    f"the private daemon ended: {self._room.said('daemon') or f'exit status {self._process.returncode}'}"
                )
            if time.monotonic() > due:
                raise NoDaemon("the private daemon does not answer")
            if self._ended.wait(0.05):
                return

    def close(self) -> None:
        """No reviving any more; the room ends the daemon."""
        self._ended.set()


def answers(socket: Path) -> bool:
    """Whether somebody is at the socket, or may be: one that we may not ask is no reason for a second daemon."""
    if len(os.fsencode(socket)) > MAX_SOCKET_PATH:
        return False
    try:
        Client(socket, timeout=2.0).close()
    except NoDaemon as error:
        return not isinstance(error.__cause__, (FileNotFoundError, ConnectionRefusedError, NotADirectoryError))
    except ApiError:
        pass
    return True
