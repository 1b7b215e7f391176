"""What survives a restart: what the judge knows of conditions and incidents, written when it changed, and the journal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.daemon import status
from neuronwatch.daemon.log import Log
from neuronwatch.judge.live import Watch
from neuronwatch.model import plain
from neuronwatch.model.dataclass import replace
from neuronwatch.model.live import Incident, Revision
from neuronwatch.source.live.api import Now
from neuronwatch.store.errors import StoreError
from neuronwatch.store.journal import Journal, JournalLimits
from neuronwatch.store.snapshot import Content, Snapshot

FILE = "judge.json"
MANY = 1000
"""Incidents of the journal that are looked at."""
WAIT = 0.5
"""Seconds that the loop waits at most for what it is about to tell others."""
FOR_PEOPLE = frozenset(("text", "title", "cause", "fix", "confirm", "why", "reason", "what"))
LOST = "its course is not known: what was known before a restart was lost; where it lasts it is opened anew"


class Kept(NamedTuple):
    """How one file is: `state` ok, full, failed or off."""

    state: str
    reason: str


class Keeping:
    """A journal that cannot be opened is said; everything else works without it."""

    def __init__(self, directory: Path, days: float, now: float, log: Log) -> None:
        self._snapshot = Snapshot(directory / FILE)
        self.journal: Journal | None = None
        self._why = ""
        try:
            self.journal = Journal.open(directory, now, JournalLimits(days))
        except StoreError as error:
            self._why = str(error)
            log.error("no journal is kept", why=str(error), mend=error.mend)
        self._log = log
        self._said = {"journal": "ok", "conditions": "ok"}
        self._aside = 0

    def restore(self, watch: Watch, now: Now) -> None:
        """Takes up what an earlier life knew. A damaged file is set aside and said; then the one before it is taken."""
        try:
            found = self._snapshot.read()
        except OSError as error:
            self._log.error("what was known before the restart cannot be read", why=(error.strerror or str(error)).lower())
            found = []
        for content in found:
            if self._load(watch, content, now):
                break
        self._settle(watch, now)

    def _load(self, watch: Watch, content: Content, now: Now) -> bool:
        try:
            watch.load(json.loads(content.data), now)
        except (ValueError, RecursionError) as error:
            aside = content.path.with_name(f"{content.path.name}.damaged-{int(now.wall)}")
            try:
                content.path.replace(aside)
            except OSError as second:
                self._log.error("a damaged file cannot be set aside", file=str(content.path), why=str(second))
            self._log.error("what was known before the restart is damaged and set aside", file=str(aside), why=str(error)[:300])
            self.note(now.wall, "state.damaged", f"{content.path.name} is damaged and now {aside.name}")
            return False
        return True

    def _settle(self, watch: Watch, now: Now) -> None:
        """The journal may be a second older than what the judge knows, or know more where that was lost."""
        if self.journal is None:
            return
        known = watch.incidents()
        self.keep(known, now.wall)
        names = {item.id for item in known}
        try:
            orphans = [item for item in self.journal.unresolved() if item.id not in names]
        except StoreError as error:
            self._log.error("the journal cannot be read", why=str(error))
            return
        for item in orphans:
            self._log.warning("an incident of before is closed", id=item.id, fault=item.fault, why=LOST)
        self.keep([_closed(item, now.wall) for item in orphans], now.wall)

    def keep(self, incidents: Iterable[Incident], now: float) -> None:
        """Writes incidents to the journal, without secrets."""
        if self.journal is not None:
            self.journal.save(map(_hidden, incidents), now)

    def note(self, now: float, kind: str, text: str, subject: str = "") -> None:
        if self.journal is not None:
            self.journal.note(now, kind, status.reason(text), subject)

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
        """Tries again what could not be written; says how the files are, where that changed."""
        self._snapshot.retry()
        if self.journal is not None:
            self.journal.tick(now)
        for name, kept in self.health().items():
            if kept.state != self._said[name] and kept.state != "off":
                self._said[name] = kept.state
                say = self._log.info if kept.state == "ok" else self._log.error
                say(f"{name} are {kept.state}" if name == "conditions" else f"{name} is {kept.state}", why=kept.reason)
        if self.journal is not None:
            aside = self.journal.health().aside
            for path in aside[self._aside :]:
                self._log.error("the journal was damaged and is set aside", file=str(path))
            self._aside = len(aside)

    def anew(self, watch: Watch, now: Now) -> None:
        """The state directory is another one: everything is written again."""
        self.save(watch, now)
        self.keep(watch.incidents(), now.wall)

    def health(self) -> dict[str, Kept]:
        """By what is kept: `journal` (incidents and events), `conditions` (what the next start knows)."""
        journal = Kept("off", self._why)
        if self.journal is not None:
            health = self.journal.health()
            journal = Kept(health.state, health.reason)
        return {"journal": journal, "conditions": Kept(self._snapshot.state, self._snapshot.reason)}

    def close(self) -> None:
        if not self._snapshot.close():
            self._log.error("the disk did not take what is known in time", why=self._snapshot.reason)
        if self.journal is not None and not self.journal.close():
            self._log.error("the disk did not take the journal in time")

    def save(self, watch: Watch, now: Now, wait: bool = False) -> None:
        """Writes down what the judge knows. `wait`: others are told of it next, so that it should be on disk before."""
        self._snapshot.put(json.dumps(without_secrets(watch.dump(now)), separators=(",", ":")).encode(), WAIT if wait else 0.0)


def without_secrets(known: Any, key: str = "") -> Any:
    """What is known as plain data, secrets hidden in all that is for people: the judge goes on without these words."""
    if isinstance(known, str):
        return status.hidden(known) if key in FOR_PEOPLE else known
    if isinstance(known, dict):
        found = {name: without_secrets(value, name) for name, value in known.items()}
        if "mark" in found and found.get("text") != known.get("text"):
            del found["mark"]  # where in the line the words were
        return found
    if isinstance(known, list):
        return [without_secrets(item, key) for item in known]
    return known


def _hidden(item: Incident) -> Incident:
    return plain.to_incident(without_secrets(plain.of_incident(item)))


def _closed(item: Incident, now: float) -> Incident:
    return replace(item, state="resolved", resolved=now, updated=now, revisions=(*item.revisions, Revision(now, LOST)))
