"""Files that others read while they are written: a new one takes the place of the old at once."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


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
    """Says that something cannot be done once, not each time, and says when it can be done again."""

    def __init__(self) -> None:
        self._said = ""

    def news(self, error: OSError | None) -> str:
        """What is new: the reason, "it works again", or "" for nothing."""
        reason = "" if error is None else (error.strerror or str(error)).lower()
        if reason == self._said:
            return ""
        self._said = reason
        return reason or "it works again"
