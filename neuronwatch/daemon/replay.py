"""A recording through the path of the daemon: the same intake, the same watch; time is the recording's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuronwatch.daemon import processes
from neuronwatch.daemon.intake import Intake
from neuronwatch.judge.live import Change, Followed, Judged, Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.live import Delivery, Health, Reading
from neuronwatch.source.live.api import Now
from neuronwatch.store.recording import Recording
from neuronwatch.store.ring import Point

SILENT = 600.0
"""A source that delivers nothing for so long is not called fresh any more."""


class Newest:
    """The newest readings of processes: the other ones are told by who plays (they do not go through the judge)."""

    def __init__(self) -> None:
        self._points: dict[str, dict[str, Point]] = {name: {} for name in processes.METRICS}

    def add(self, readings: Sequence[Reading], time: float, source: str) -> None:
        whole: dict[str, dict[str, Point]] = {}
        for item in readings:
            if item.metric in self._points:
                whole.setdefault(item.metric, {})[item.entity] = Point(time, item.value, item.reason, source)
        for metric, points in whole.items():  # who is not told of any more is gone
            kept = {entity: point for entity, point in self._points[metric].items() if point.source != source}
            self._points[metric] = {**kept, **points}

    def latest(self, metric: str) -> Mapping[str, Point]:
        return self._points.get(metric, {})


class Replay:
    """Raises StoreError where there is no recording."""

    def __init__(self, directory: str, rules: RuleSet) -> None:
        self._recording = Recording(Path(directory))
        self.rules = rules
        self.watch = Watch(rules)
        self.newest = Newest()
        self.intake = Intake(rules, self.watch, self.newest)
        self._last: dict[str, float] = {}
        self.judged: Judged | None = None
        self.mono = 0.0
        """Seconds from the first delivery to the last that was taken."""
        self._wall = 0.0

    @property
    def damaged(self) -> int:
        return self._recording.damaged

    def faults(self) -> list[str]:
        """Faults of the causes that last at the end."""
        conditions = self.judged.conditions if self.judged else ()
        return [item.finding.fault for item in conditions if item.state == "true" and item.finding.role == "cause"]

    def span(self) -> tuple[float, float] | None:
        """Time of the first and of the last delivery, None: there is none."""
        return self._recording.span()

    def steps(self) -> Iterator[tuple[Delivery, Now]]:
        """Takes one delivery after the other, as fast as it is asked; what is judged is in `judged`."""
        begun: float | None = None
        for item in self._recording.play():
            begun = item.time if begun is None else begun
            now = Now(item.time, max(self.mono, item.time - begun))
            self.mono = now.mono
            self._wall = item.time
            for _ in self._take(item, now):
                pass
            yield item, now

    def finish(self) -> None:
        """The last words, after the last step."""
        for _ in self._end(Now(self._wall, self.mono)):
            pass

    def followed(self) -> Iterable[Followed]:
        return self.watch.followed()

    def processes(self, now: Now) -> list[dict[str, Any]]:
        """As far as readings and listings are recorded."""
        return processes.rows(self.newest, self.intake, now.wall)

    def healths(self, now: Now) -> list[Health]:
        return self._healths(now)

    def play(self, stop: float | None, speed: float | None) -> Iterator[Change]:
        """What happened to incidents, until `stop` (seconds since the epoch)."""
        begun: tuple[float, float] | None = None
        now = Now(0.0, 0.0)
        for item in self._recording.play():
            if stop is not None and item.time > stop:
                break
            if begun is None:
                begun = (item.time, time.monotonic())
            if speed:
                time.sleep(max(0.0, begun[1] + (item.time - begun[0]) / speed - time.monotonic()))
            now = Now(item.time, max(now.mono, item.time - begun[0]))
            yield from self._take(item, now)
        if begun is not None:
            yield from self._end(now)

    def _take(self, item: Delivery, now: Now) -> Iterator[Change]:
        self._last[item.source] = now.mono
        self.intake.take(item, now)
        if self.intake.quiet_in() <= 0:
            self.intake.quiet(now)
        if self.watch.due(now) <= 0:
            yield from self._conclude(now)

    def _end(self, now: Now) -> Iterator[Change]:
        """The last words: texts that grow no more, and a last judgement."""
        self.intake.settle(now)
        later = Now(now.wall, now.mono + max(0.0, self.watch.due(now)))
        yield from self._conclude(later)

    def _conclude(self, now: Now) -> Iterator[Change]:
        self.judged = self.watch.conclude(now, self._healths(now))
        yield from self.judged.changes

    def _healths(self, now: Now) -> list[Health]:
        found = []
        for source, last in self._last.items():
            silent = now.mono - last > SILENT
            found.append(Health(source, "stale" if silent else "fresh", now.wall, SILENT, now.wall - (now.mono - last),
                                "nothing more in the recording" if silent else ""))  # fmt: skip
        return found
