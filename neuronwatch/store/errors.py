"""What the store refuses, for people: one line and a mend."""

from __future__ import annotations


class StoreError(Exception):
    """`str()` is one line that says what is wrong; `mend` says what to do about it."""

    def __init__(self, what: str, mend: str = "") -> None:
        super().__init__(what)
        self.mend = mend


class Busy(StoreError):
    """Another process has it; `pid` is its, 0 when it is not known."""

    def __init__(self, what: str, pid: int, mend: str = "") -> None:
        super().__init__(what, mend)
        self.pid = pid
