"""The journal: incidents with their revisions, and events of the daemon (sources, reloads, floods, starts and stops).

`save` and `note` only remember; a thread of its own writes within a second, with an fsync, so that neither kill -9 after that nor a
power loss takes an incident. On a full disk entries wait in memory (bounded, the newest state of each incident is kept).
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from neuronwatch.model import plain
from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.live import Incident
from neuronwatch.store import database
from neuronwatch.store.journal_query import FILE, SCHEMA, JournalEvent, JournalReader
from neuronwatch.store.keeper import Keeper, KeeperState, Worker

__all__ = ["Journal", "JournalEvent", "JournalHealth", "JournalLimits", "JournalReader"]

_WAITING_EVENTS = 10_000
_PACE = 1.0
_EXPIRED = 200
"""Events and incidents that age removes at a time, so that a clock far in the future does not empty the journal."""
_MAX_TEXT = 4000


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """`days` that events and resolved incidents are kept, `size`: bytes of the file. Open incidents stay."""

    days: float = 90.0
    size: int = 64 * 1024 * 1024


class JournalHealth(NamedTuple):
    """As HistoryHealth: `waiting` entries, `lost` events, `unreadable` incidents of before that could not be read."""

    state: KeeperState
    reason: str
    since: float
    waiting: int
    lost: int
    unreadable: int
    size: int
    aside: tuple[Path, ...]


class Journal:
    """The one writer of a state directory's journal. All calls come from one thread."""

    def __init__(self, directory: Path, now: float, limits: JournalLimits, threaded: bool) -> None:
        self._directory = directory
        self._limits = limits
        self._lock = threading.Lock()
        self._incidents: dict[str, Incident] = {}
        self._events: list[JournalEvent] = []
        self._lost = 0
        self._unreadable = 0
        self._size = 0
        self._reader: JournalReader | None = None
        self._reader_of = 0
        self._keeper = Keeper(directory / FILE, SCHEMA, now)
        self._worker = Worker(self._work, self._keeper.close, "journal", _PACE) if threaded else None

    @classmethod
    def open(cls, directory: Path, now: float, limits: JournalLimits | None = None, threaded: bool = True) -> Journal:
        """Opens or makes the journal in a state directory. Raises StoreError (not writable, a newer schema)."""
        return cls(directory, now, limits or JournalLimits(), threaded)

    def save(self, incidents: Iterable[Incident], now: float) -> None:
        """Keeps incidents as they are now; each takes the place of what its id was before."""
        with self._lock:
            self._incidents.update((incident.id, incident) for incident in incidents)
        self._call(now)

    def note(self, now: float, kind: str, text: str, subject: str = "", detail: Mapping[str, object] | None = None) -> None:
        """Writes down an event: `kind` is dotted (source.state, rules.reload, flood.dropped, daemon.start), `subject` what it
        is about, `detail` what JSON can say."""
        with self._lock:
            self._events.append(JournalEvent(0, now, kind, subject, text[:_MAX_TEXT], dict(detail or {})))
            if len(self._events) > _WAITING_EVENTS:
                self._lost += 1
                del self._events[0]
        self._call(now)

    def tick(self, now: float) -> None:
        """Lets what waits be tried again; every few seconds."""
        if self._incidents or self._events:
            self._call(now)

    def _call(self, now: float) -> None:
        if self._worker is not None:
            self._worker.call(now)
        else:
            self._work(now)

    def _work(self, now: float) -> None:
        with self._lock:
            incidents, events = list(self._incidents.values()), list(self._events)
        if not incidents and not events:
            return
        try:
            written = self._keeper.run(lambda db: self._write(db, incidents, events, now), now)
        except Exception as error:  # a defect of ours must not come again and again
            self._keeper.say("failed", f"defect: {error!r}", now)
            written = True
            self._lost += len(events)
        if written:
            with self._lock:
                for incident in incidents:
                    if self._incidents.get(incident.id) is incident:
                        del self._incidents[incident.id]
                done = set(map(id, events))
                self._events = [event for event in self._events if id(event) not in done]

    def _write(self, db: sqlite3.Connection, incidents: list[Incident], events: list[JournalEvent], now: float) -> None:
        with database.transaction(db, durable=True):
            db.executemany("INSERT OR REPLACE INTO incident VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(_incident_row, incidents))
            db.executemany("INSERT INTO event (time, kind, subject, text, detail) VALUES (?, ?, ?, ?, ?)", map(_event_row, events))
            self._retain(db, now)
        database.vacuum(db)
        self._size = database.used_bytes(db)

    def _retain(self, db: sqlite3.Connection, now: float) -> None:
        before = now - self._limits.days * 86400
        _expire(db, "event", "id", "time < ?", (before,), _EXPIRED)
        _expire(db, "incident", "updated", "state = 'resolved' AND updated < ?", (before,), _EXPIRED)
        while database.used_bytes(db) > self._limits.size:
            if not _expire(db, "event", "id", "1", (), 20) and not _expire(db, "incident", "updated", "state = 'resolved'", (), 20):
                break

    def _read(self) -> JournalReader:
        if self._reader is None or self._reader_of != self._keeper.generation:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._reader_of = self._keeper.generation
            self._reader = JournalReader(self._directory)
        return self._reader

    def unresolved(self) -> list[Incident]:
        """The incidents that last, oldest first: for the start of the daemon. Raises StoreError."""
        reader = self._read()
        found = reader.unresolved()
        self._unreadable += reader.unreadable
        return found

    def incident(self, name: str) -> Incident | None:
        """One incident, as it was saved last. Raises StoreError."""
        with self._lock:
            waiting = self._incidents.get(name)
        return waiting if waiting is not None else self._read().incident(name)

    def incidents(
        self, start: float | None = None, end: float | None = None, fault: str = "", state: str = "", limit: int = 100
    ) -> list[Incident]:
        """As `JournalReader.incidents`, with what waits to be written."""
        with self._lock:
            waiting = dict(self._incidents)
        found = {incident.id: incident for incident in self._read().incidents(start, end, fault, state, limit)}
        for incident in waiting.values():
            found.pop(incident.id, None)
            if _matches(incident, start, end, fault, state):
                found[incident.id] = incident
        return sorted(found.values(), key=lambda incident: (-incident.opened, incident.id))[:limit]

    def events(
        self, start: float | None = None, end: float | None = None, kind: str = "", subject: str = "", limit: int = 100
    ) -> list[JournalEvent]:
        """As `JournalReader.events`: what was written, up to a second ago."""
        return self._read().events(start, end, kind, subject, limit)

    def health(self) -> JournalHealth:
        state, reason = self._keeper.how()
        with self._lock:
            waiting = len(self._incidents) + len(self._events)
        keeper = self._keeper
        return JournalHealth(state, reason, keeper.since, waiting, self._lost, self._unreadable, self._size, keeper.aside)

    def close(self, timeout: float = 5.0) -> bool:
        """Writes what waits and closes. False: the disk did not answer within `timeout` seconds."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._worker is not None:
            return self._worker.end(timeout)
        self._keeper.close()
        return True


def _matches(incident: Incident, start: float | None, end: float | None, fault: str, state: str) -> bool:
    if fault.endswith("*"):
        right = incident.fault.startswith(fault[:-1])
    else:
        right = fault in ("", incident.fault)
    ended = incident.resolved if incident.resolved is not None else float("inf")
    return right and state in ("", incident.state) and (end is None or incident.opened <= end) and (start is None or ended >= start)


def _expire(db: sqlite3.Connection, table: str, order: str, where: str, values: tuple[float, ...], limit: int) -> int:
    """Removes the first rows of one of our tables; all names come from this file."""
    chosen = f"SELECT rowid FROM {table} WHERE {where} ORDER BY {order} LIMIT {limit}"
    return db.execute(f"DELETE FROM {table} WHERE rowid IN ({chosen})", values).rowcount


def _clean(text: str) -> str:
    """SQLite's text is UTF-8: what is none (half of a surrogate pair) is written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _incident_row(incident: Incident) -> tuple[object, ...]:
    data = json.dumps(plain.of_incident(incident), ensure_ascii=True, separators=(",", ":"))
    return (
        _clean(incident.id), _clean(incident.fault), incident.severity, incident.state, incident.opened, incident.updated,
        incident.resolved, data,
    )  # fmt: skip


def _event_row(event: JournalEvent) -> tuple[object, ...]:
    detail = json.dumps(event.detail, ensure_ascii=True, separators=(",", ":"), default=str)
    return (event.time, _clean(event.kind), _clean(event.subject), _clean(event.text), detail)
