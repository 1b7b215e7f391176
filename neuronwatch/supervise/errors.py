"""What goes wrong with a job, for people: one line and its mend."""

from __future__ import annotations


class JobError(Exception):
    """`mend` says what to do."""

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.mend = mend
