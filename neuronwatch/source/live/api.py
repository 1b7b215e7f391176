"""The contract between a live source and whoever runs it (`runner.py`, inside the daemon)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from neuronwatch.model.live import Delivery, Now

__all__ = ["Absent", "Broken", "Delivery", "Now", "Source"]


class Clock(Protocol):
    """The clock that everything of the daemon sees (`daemon/clock.py`)."""

    def now(self) -> Now: ...

    def real(self, seconds: float) -> float:
        """How many of the machine's seconds `seconds` of this clock take."""
        ...


class Outage(Exception):
    """A poll that failed. The text says why, for people. `delivery`: what there is to tell all the same (that a device is gone,
    the words of a tool); it does not count as alive."""

    def __init__(self, reason: str, delivery: Delivery | None = None) -> None:
        super().__init__(reason)
        self.delivery = delivery


class Absent(Outage):
    """What the source reads is not there (no tool, no tree, no permission): state missing."""


class Broken(Outage):
    """It is there and cannot be read (exit status, garbage, I/O error): state failed."""


class Source(Protocol):
    """One thing that can be read. All calls come from one thread: the loop's, or, where `blocking`, a thread of its own that
    the runner gives it (a read of a hung driver never returns, and nobody else waits for it)."""

    name: str
    """As in `drill inject D source.NAME.hung`, `status` and the exporters: sysfs, neuron-monitor, neuron-ls, kernel-log..."""
    budget: float
    """Seconds without a delivery after which it is stale."""
    interval: float
    """Seconds between polls; 0: it is driven by its descriptors alone."""
    mandatory: bool
    blocking: bool

    def poll(self, now: Now) -> Delivery | None:
        """Reads what there is to read now; None: nothing is new, and that is no silence (it counts as alive only if the
        source says so by returning an empty Delivery). Raises Absent or Broken with the reason; the runner keeps calling
        at its own, growing pace, so that a source recovers without a restart. Anything else that it raises is a defect of
        ours, said as Broken."""
        ...

    def descriptors(self) -> Sequence[int]:
        """Descriptors that the loop watches for input; it calls `poll` when one is readable. Asked anew after every poll. The
        very same object as before says that they are the same open files as well."""
        ...

    def close(self) -> None:
        """Frees descriptors and ends children, quickly and for good."""
        ...
