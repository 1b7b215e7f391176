"""One number with its age, and how far it can be believed."""

from __future__ import annotations

from typing import Literal, NamedTuple

Trust = Literal["fresh", "stale", "absent", "unknown"]
"""fresh: within its source's budget; stale: older; absent: the source says that there is none; unknown: nobody told."""


ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError)
"""What reading the odd answer of a broken or foreign daemon raises, wherever it is read."""


class Value(NamedTuple):
    """`value` None: absent, `reason` says why. `time`: seconds since the epoch."""

    value: float | None
    time: float
    reason: str
    source: str


class Seen(NamedTuple):
    """A value as it may be drawn now. `number` is only there when it may be shown (fresh or stale)."""

    number: float | None
    trust: Trust
    age: float
    reason: str

    @property
    def known(self) -> bool:
        return self.trust == "fresh" and self.number is not None


UNKNOWN = Seen(None, "unknown", 0.0, "nobody has told it")
