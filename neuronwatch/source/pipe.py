"""Standard input as evidence: `dmesg | neuronwatch diagnose -`."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

NAME = "-"
SHOWN = "stdin"
PLACE = "/dev/stdin"
"""Where its lines are counted again, when it is a file."""
_MOST = 1024 * 1024


class Pipe:
    """The bytes of a descriptor that cannot be sought in."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.place = 0

    def read(self, size: int) -> bytes:
        part = os.read(self._descriptor, min(size, _MOST))
        self.place += len(part)
        return part


class Input(NamedTuple):
    """A descriptor to be closed, and whether it is a pipe (else a file)."""

    descriptor: int
    is_pipe: bool


def standard_input() -> Input:
    """Raises OSError for what is no evidence: a terminal would be waited for without a word."""
    descriptor = os.dup(0)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return Input(descriptor, False)
    if not os.isatty(descriptor) and not stat.S_ISDIR(mode) and not stat.S_ISBLK(mode):
        return Input(descriptor, True)
    os.close(descriptor)
    raise OSError("a terminal is not read" if stat.S_ISCHR(mode) else "not a pipe and not a regular file")
