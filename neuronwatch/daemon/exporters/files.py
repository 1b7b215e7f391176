"""Files that others read while they are written: a new one takes the place of the old at once."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from neuronwatch.daemon.log import Level, Log


def replace(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Writes beside `path`, then renames. Raises OSError; nothing is left behind."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


class Complaint:
    """Says in the log that something is not written once, not each time, and says when it is written again."""

    def __init__(self, log: Log, what: str, level: Level = "warning", **fields: str) -> None:
        self._log, self._what, self._level, self._fields = log, what, level, fields
        self._said = ""

    def told(self, error: OSError | None) -> None:
        """What became of the last attempt."""
        reason = "" if error is None else (error.strerror or str(error)).lower()
        if reason == self._said:
            return
        self._said = reason
        if reason:
            self._log.say(self._level, f"{self._what} is not written", **self._fields, why=reason)
        else:
            self._log.info(f"{self._what} is written again", **self._fields)
