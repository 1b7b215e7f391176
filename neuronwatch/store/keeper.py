"""Keeps one SQLite file of the daemon open through whatever happens to it, and says how it is.

A full disk, an error or a damaged file is a state, not an end: the work is tried again the next time, a damaged file is set aside
under another name and a new one begun.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from neuronwatch.store import database
from neuronwatch.store.errors import StoreError

KeeperState = Literal["ok", "full", "failed", "closed"]
HUNG_SECONDS = 30.0
"""Of one piece of work; then the disk is said not to answer."""
_ASIDE_LIMIT = 3
"""So many damaged files in one run are the disk's fault; no more are set aside."""


class Keeper:
    """The connection for writing. One thread works it; `how` may be asked from another."""

    def __init__(
        self, path: Path, schema: database.Schema, now: float, opened: Callable[[sqlite3.Connection], None] = lambda db: None
    ) -> None:
        """`opened` is called with each new connection. A disk that is full already is a state; other reasons for which the
        file cannot be opened raise StoreError."""
        self.path = path
        self.directory = path.parent
        self.aside: tuple[Path, ...] = ()
        """Damaged files that were set aside."""
        self.generation = 0
        """Grows when another file takes the place of the old one."""
        self.state: KeeperState = "ok"
        self.reason = ""
        self.since = now
        self.db: sqlite3.Connection | None = None
        self._schema = schema
        self._opened = opened
        self._begun: float | None = None
        self._identity: tuple[int, int] | None = None
        try:
            self._open(now)
        except StoreError as error:
            if not self._is_full(error):
                raise
            self.say("full", f"the disk of {self.directory} is full", now)

    def _open(self, now: float) -> None:
        found = database.open_writer(self.path, self._schema, now)
        try:
            self._opened(found.connection)
        except sqlite3.Error as error:
            found.connection.close()
            if not database.is_damage(error):
                raise StoreError(f"{self.path} cannot be read: {error}", f"see to the disk of {self.directory}") from error
            aside = database.set_aside(self.path, now)
            found = database.open_writer(self.path, self._schema, now)._replace(aside=aside)
            self._opened(found.connection)
        self.db, self._identity = found.connection, _identity(self.path)
        self.generation += 1
        if found.aside is not None:
            self.aside = (*self.aside, found.aside)

    def run(self, work: Callable[[sqlite3.Connection], None], now: float) -> bool:
        """Does a piece of work on the file. False: it could not be done, and `state` says why; any rest of it is rolled back.
        Raises only what is a defect of the work."""
        self._begun = time.monotonic()
        try:
            if self.db is None or self._identity != _identity(self.path):  # deleted, or another file in its place
                self._shut()
                self._open(now)
            assert self.db is not None
            work(self.db)
        except (sqlite3.Error, StoreError, UnicodeDecodeError) as error:
            self._failed(error, now)
            return False
        finally:
            self._begun = None
        self.say("ok", "", now)
        return True

    def _failed(self, error: Exception, now: float) -> None:
        if database.is_damage(error):
            self._set_aside(error, now)
        elif self._is_full(error):
            self.say("full", f"the disk of {self.directory} is full", now)
            if self.db is not None:
                with contextlib.suppress(sqlite3.Error):
                    self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        else:
            self.say("failed", str(error), now)

    def _set_aside(self, error: Exception, now: float) -> None:
        self._shut()
        if len(self.aside) >= _ASIDE_LIMIT:
            self.say("failed", f"damaged again and again ({error}); the disk may be failing", now)
            return
        try:
            self.aside = (*self.aside, database.set_aside(self.path, now))
            self._open(now)
            self.say("failed", f"the file was damaged ({error}) and is now {self.aside[-1].name}", now)
        except (sqlite3.Error, StoreError) as second:
            self.say("failed", str(second), now)

    def _is_full(self, error: BaseException) -> bool:
        cause = error.__cause__ if isinstance(error, StoreError) else error
        if isinstance(cause, OSError):
            return cause.errno in (errno.ENOSPC, errno.EDQUOT)
        return isinstance(cause, sqlite3.Error) and database.is_full(cause, self.directory)

    def say(self, state: KeeperState, reason: str, now: float) -> None:
        if state != self.state:
            self.since = now
        self.state, self.reason = state, reason

    def how(self) -> tuple[KeeperState, str]:
        """State and reason; also that the disk does not answer, which the thread that waits for it cannot say."""
        begun = self._begun
        waited = time.monotonic() - begun if begun is not None else 0.0
        if waited > HUNG_SECONDS:
            return "failed", f"the disk of {self.directory} has not answered for {waited:.0f} s"
        return self.state, self.reason

    def _shut(self) -> None:
        if self.db is not None:
            with contextlib.suppress(sqlite3.Error):
                self.db.close()
            self.db = None

    def close(self) -> None:
        if self.db is not None:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._shut()
        self.state = "closed"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Worker:
    """Calls `work(time)` on a thread of its own, so that a slow or hung disk never makes the caller wait. Calls that come while
    one runs become one. `pace`: seconds between two calls."""

    def __init__(self, work: Callable[[float], None], close: Callable[[], None], name: str, pace: float = 0.0) -> None:
        self._work = work
        self._close = close
        self._pace = pace
        self._changed = threading.Condition()
        self._time: float | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, now: float) -> None:
        """Has the work done soon; `now` is the caller's clock."""
        with self._changed:
            self._time = now
            self._changed.notify()

    def end(self, timeout: float) -> bool:
        """Has what was asked for done, then closes. False: that was not through within `timeout` seconds."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._time is not None or self._ended)
                now, self._time = self._time, None
            if now is None:
                self._close()
                return
            self._work(now)
            if self._pace:
                with self._changed:
                    self._changed.wait_for(lambda: self._ended, self._pace)
