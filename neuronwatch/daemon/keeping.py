"""What survives a restart: what the judge knows of conditions and incidents, written when it changed, and the journal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from neuronwatch.daemon.exporters.files import Complaint, replace
from neuronwatch.daemon.log import Log
from neuronwatch.judge.live import Watch
from neuronwatch.model.live import Incident
from neuronwatch.source.live.api import Now
from neuronwatch.store.errors import StoreError
from neuronwatch.store.journal import Journal, JournalLimits

FILE = "judge.json"
MANY = 1000
"""Incidents of the journal that are looked at."""
LARGEST = 64 * 1024 * 1024


class Keeping:
    """A journal that cannot be opened is said; everything else works without it."""

    def __init__(self, directory: Path, days: float, now: float, log: Log) -> None:
        self._path = directory / FILE
        self.journal: Journal | None = None
        try:
            self.journal = Journal.open(directory, now, JournalLimits(days))
        except StoreError as error:
            log.error("no journal is kept", why=str(error), mend=error.mend)
        self._log = log
        self._complaint = Complaint()

    def restore(self, watch: Watch, now: Now) -> None:
        """Takes up what an earlier life knew. A damaged file is set aside and said."""
        try:
            with self._path.open("rb") as file:
                data = file.read(LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            self._log.error("what was known before the restart cannot be read", why=(error.strerror or str(error)).lower())
            return
        try:
            watch.load(json.loads(data), now)
        except (ValueError, RecursionError) as error:
            aside = self._path.with_name(f"{FILE}.damaged-{int(now.wall)}")
            self._path.replace(aside)
            self._log.error("what was known before the restart is damaged and set aside", file=str(aside), why=str(error)[:300])

    def note(self, now: float, kind: str, text: str, subject: str = "") -> None:
        if self.journal is not None:
            self.journal.note(now, kind, text, subject)

    def incidents(self, current: Iterable[Incident]) -> list[Incident]:
        """Those of now, and those that the journal still has."""
        found = {item.id: item for item in current}
        if self.journal is not None:
            try:
                for item in self.journal.incidents(limit=MANY):
                    found.setdefault(item.id, item)
            except StoreError as error:
                self._log.warning("the journal cannot be read", why=str(error))
        return list(found.values())

    def tick(self, now: float) -> None:
        if self.journal is not None:
            self.journal.tick(now)

    def close(self) -> None:
        if self.journal is not None and not self.journal.close():
            self._log.error("the disk did not take the journal in time")

    def save(self, watch: Watch, now: Now) -> None:
        error: OSError | None = None
        try:
            replace(self._path, json.dumps(watch.dump(now), separators=(",", ":")).encode(), 0o600)
        except OSError as caught:
            error = caught
        news = self._complaint.news(error)
        if news:
            self._log.error("what is known is not written down", why=news)
