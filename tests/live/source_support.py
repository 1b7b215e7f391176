"""A clock that tests set, sources made of a function, and waiting for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from neuronwatch.model.live import Delivery, Health
from neuronwatch.source.live.api import Now
from neuronwatch.source.live.runner import Runner

EPOCH = 1_790_000_000.0


class SetClock:
    """Stands still until `at` is moved. `rate` as of the daemon's clock."""

    def __init__(self, rate: float = 1.0) -> None:
        self.at = 100.0
        self.rate = rate

    def now(self) -> Now:
        return Now(EPOCH + self.at, self.at)

    def real(self, seconds: float) -> float:
        return seconds / self.rate


class RealClock:
    def now(self) -> Now:
        return Now(time.time(), time.monotonic())

    def real(self, seconds: float) -> float:
        return seconds


class Made:
    """A source whose poll is `read`."""

    def __init__(
        self,
        read: Callable[[Now], Delivery | None],
        *,
        name: str = "made",
        interval: float = 1.0,
        budget: float = 5.0,
        mandatory: bool = False,
        blocking: bool = False,
    ) -> None:
        self.name = name
        self.budget = budget
        self.interval = interval
        self.mandatory = mandatory
        self.blocking = blocking
        self.read = read
        self.watched: list[int] = []
        self.closed = 0

    def poll(self, now: Now) -> Delivery | None:
        return self.read(now)

    def descriptors(self) -> Sequence[int]:
        return self.watched

    def close(self) -> None:
        self.closed += 1


def alive(now: Now) -> Delivery:
    return Delivery("made", now.wall)


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Waits for the condition, and fails when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come within its time"
        time.sleep(0.005)


def turned_until(runner: Runner, clock: RealClock | SetClock, condition: Callable[[], object], seconds: float = 10.0) -> None:
    def turn() -> object:
        runner.turn(clock.now())
        return condition()

    until(turn, seconds)


def health(runner: Runner, name: str = "made") -> Health:
    return next(item for item in runner.health() if item.source == name)
