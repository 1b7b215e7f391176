"""Readings of now and over time: the ring in memory, the history on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.daemon.config import History as Settings
from neuronwatch.daemon.log import Log
from neuronwatch.model.live import Reading
from neuronwatch.store.errors import StoreError
from neuronwatch.store.frames import Splitter
from neuronwatch.store.history import History, HistoryHealth, Limits
from neuronwatch.store.ring import Ring


class Memory:
    """A history that cannot be opened is said; the ring works without it."""

    def __init__(self, directory: Path, settings: Settings, now: float, log: Log) -> None:
        self.splitter = Splitter()
        self.ring = Ring(settings.minutes_in_memory, self.splitter)
        self.history: History | None = None
        self.reason = "" if settings.enabled else "switched off in the configuration"
        self._log = log
        self._state = "ok"
        if settings.enabled:
            limits = Limits(settings.days, settings.megabytes * 1024 * 1024)
            try:
                self.history = History.open(directory, now, limits, splitter=self.splitter)
            except StoreError as error:
                self.reason = str(error)
                log.error("no history is kept", why=str(error), mend=error.mend)

    def add(self, readings: Sequence[Reading], time: float, source: str) -> None:
        self.ring.add(readings, time, source)
        if self.history is not None:
            self.history.add(readings, time)

    def health(self) -> HistoryHealth | None:
        """How the history is; a change of its state is logged. None: there is none (`reason`)."""
        if self.history is None:
            return None
        health = self.history.health()
        if health.state != self._state:
            say = self._log.info if health.state == "ok" else self._log.error
            say("history is " + health.state, why=health.reason, lost=health.lost)
            self._state = health.state
        return health

    def close(self) -> None:
        if self.history is not None and not self.history.close():
            self._log.error("the disk did not take the last readings in time")
