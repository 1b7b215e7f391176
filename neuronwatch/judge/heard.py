"""When the points of a followed text were heard, and when its run was started anew: for logs that tell no times."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

from neuronwatch.model.dataclass import dataclass, field

MOST = 512
"""Times kept of one text; of more every second one of the older half goes."""
MOST_RESTARTS = 16


@dataclass
class Heard:
    """`restarts`: times (seconds since the epoch) at which a start banner came after points of an earlier run."""

    lines: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    restarts: list[float] = field(default_factory=list)
    banner: tuple[str, int] | None = None
    """Kind and line of the latest start banner that was looked at."""
    spoken: bool = False
    """Whether points came since the latest banner."""
    names: frozenset[str] = frozenset()
    """The series that any of its runs told: a run that has told none yet is of the same kind."""

    def note(self, newest: int, banner: tuple[str, int] | None, wall: float, names: Callable[[], Iterable[str]] = tuple) -> None:
        """`newest`: the line of the newest point, 0: there is none; `names`: asked for where new points came."""
        if banner is not None and banner != self.banner:
            if self.spoken:
                self.restarts = [*self.restarts[1 - MOST_RESTARTS :], wall]
                self.spoken = False
            self.banner = banner
        if newest > (self.lines[-1] if self.lines else 0):
            self.lines.append(newest)
            self.times.append(wall)
            if not self.names.issuperset(told := names()):
                self.names = self.names.union(told)
            self.spoken = self.spoken or banner is None or newest > banner[1]
            if len(self.lines) > MOST:
                half = MOST // 2
                self.lines = self.lines[:half:2] + self.lines[half:]
                self.times = self.times[:half:2] + self.times[half:]

    def time_of(self, line: int | None) -> float | None:
        """When a line was heard. None: it is older than the first look, or has no number."""
        if line is None or not self.lines or line < self.lines[0] or line > self.lines[-1]:
            return None
        return self.times[bisect_left(self.lines, line)]

    def shift(self, by: int) -> None:
        """Takes `by` off all line numbers: the text begins anew under its path."""
        self.lines = array("q", [line - by for line in self.lines])
        self.banner = None if self.banner is None else (self.banner[0], self.banner[1] - by)
