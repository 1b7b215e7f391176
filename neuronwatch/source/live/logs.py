"""Logs of the runtime and of jobs: the usual places, configured patterns, and what processes that hold devices write to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.model.live import Delivery
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.flood import Flood, Sieve
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.live.followed import Followed
from neuronwatch.source.live.globs import NOT_REGULAR
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.positions import Positions
from neuronwatch.source.live.process_logs import ProcessLogs

SHIPPED = ("/var/log/neuron*.log", "/var/log/neuron*/*", "/var/log/jobs/*", "/var/log/jobs/*/*.log")
"""The usual places. Nothing is written to most of them by Neuron itself: libnrt logs to where its job says."""
PROCESSES = 5.0
"""Seconds between two looks at where processes write."""
HISTORY = 1 << 20
"""Of logs that were there before us, and that no position is known of, the last so many bytes are read."""


class RuntimeLogs:
    """`state`: the file in which positions outlive a restart, None: they do not. `holders`: whose outputs are followed too."""

    name = "runtime-log"
    budget = 30.0
    mandatory = False
    blocking = False

    def __init__(
        self, root: HostRoot, globs: Sequence[str] = SHIPPED, *, state: Path | None = None, holders: Holders | None = None,
        sieve: Sieve | None = None, history: int = HISTORY,
    ) -> None:  # fmt: skip
        self.flood = Flood(sieve)
        self._root = root
        self._globs = tuple(globs)
        self._history = history
        self._holders = holders
        self._process_logs = ProcessLogs(root)
        self._followed = Followed(self._make, state)
        self._interval: float | None = None
        self._look_at = self._alive_at = float("-inf")

    @property
    def interval(self) -> float:
        return self._followed.interval if self._interval is None else self._interval

    @interval.setter
    def interval(self, seconds: float) -> None:
        self._interval = seconds

    def _make(self, positions: Positions) -> Follower:
        return Follower(self._root, self._patterns(), positions.files, history=self._history, flood=self.flood)

    def _patterns(self) -> list[str]:
        pids = self._holders.pids if self._holders is not None else ()
        return [*self._globs, *self._process_logs.patterns(pids)]

    def poll(self, now: Now) -> Delivery | None:
        follower = self._followed.follower
        if now.mono >= self._look_at:
            self._look_at = now.mono + PROCESSES
            follower.want(self._patterns())
        found = self._followed.read(now)
        reports = self._followed.reports()
        if not found and not follower.followed:
            raise self._nothing(follower, Delivery(self.name, now.wall, reports=reports))
        if not found and reports is None and now.mono - self._alive_at < self.budget / 3:
            return None
        self._alive_at = now.mono
        return Delivery(self.name, now.wall, appended=found, reports=reports)

    def _nothing(self, follower: Follower, delivery: Delivery) -> Absent | Broken:
        """Why nothing is followed."""
        self._alive_at = float("-inf")
        said = "; ".join(f"{report.path}: {report.reason}" for report in follower.reports()[:3])
        if any(report.state == "failed" or report.reason == NOT_REGULAR for report in follower.reports()):
            return Broken(said, delivery)
        where = f"no log matches {', '.join(self._globs[:6])}, and no process that holds a device writes to a file"
        return Absent(said or where, delivery)

    def descriptors(self) -> Sequence[int]:
        return self._followed.descriptors()

    def close(self) -> None:
        self._followed.close()
