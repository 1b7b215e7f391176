"""Looks after the state directory while the daemon runs: one that was deleted or replaced is made anew and taken again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from neuronwatch.store import state_dir
from neuronwatch.store.errors import Busy, StoreError

PATIENCE = 60.0
"""Real seconds without a state directory after which a daemon that somebody starts again ends."""


class Taken(Exception):
    """Another daemon has the state directory now."""


class Guard:
    """Holds the lock of the state directory. `state` lost: it is gone and cannot be made again; `reason` says why."""

    def __init__(self, directory: Path) -> None:
        """Raises StoreError (another daemon, not writable)."""
        self._directory = directory
        self._lock = state_dir.Lock(directory)
        self._lost_at: float | None = None
        self.reason = ""

    @property
    def state(self) -> Literal["ok", "lost"]:
        return "ok" if self._lost_at is None else "lost"

    @property
    def lost_for(self) -> float:
        """Real seconds since it is lost."""
        return 0.0 if self._lost_at is None else time.monotonic() - self._lost_at

    def look(self) -> bool:
        """Whether the directory is another one than before: everything has to be written again. Raises Taken."""
        if self._lock.holds():
            self._lost_at, self.reason = None, ""
            return False
        try:
            state_dir.prepare(self._directory)
            lock = state_dir.Lock(self._directory)
        except Busy as error:
            raise Taken(f"the state directory was replaced, and {error}") from error
        except StoreError as error:
            self._lost_at = time.monotonic() if self._lost_at is None else self._lost_at
            self.reason = str(error)
            return False
        self._lock.release()
        self._lock = lock
        self._lost_at, self.reason = None, ""
        return True

    def release(self) -> None:
        self._lock.release()
