"""One daemon per state directory: a lock file that holds the pid of its owner, released by the kernel when it dies."""

from __future__ import annotations

import os
from pathlib import Path

LOCK = "daemon.lock"


class AnotherDaemon(Exception):
    """Another daemon owns the state directory; the text names its pid."""


class OnlyOne:
    """Takes the lock. Raises AnotherDaemon, and OSError where the directory cannot be written."""

    def __init__(self, directory: Path) -> None:
        import fcntl

        self._file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(self._file, 32).decode("ascii", "replace").strip()
            os.close(self._file)
            who = f"the daemon with pid {pid}" if pid.isdecimal() else "another daemon"
            raise AnotherDaemon(f"{directory}: {who} watches already; stop it, or name another --state-dir") from None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """The file stays: removing it would let two daemons lock two files of one name."""
        os.ftruncate(self._file, 0)
        os.close(self._file)
