"""Reading the journal, from the daemon or a second process while the daemon writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model import plain
from neuronwatch.model.live import Incident
from neuronwatch.store import database
from neuronwatch.store.errors import StoreError

FILE = "journal.sqlite"
SCHEMA = database.Schema(
    1,
    (
        "CREATE TABLE incident (id TEXT NOT NULL PRIMARY KEY, fault TEXT NOT NULL, severity TEXT NOT NULL, state TEXT NOT NULL,"
        " opened REAL NOT NULL, updated REAL NOT NULL, resolved REAL, data TEXT NOT NULL)",
        "CREATE INDEX incident_opened ON incident (opened)",
        "CREATE INDEX incident_state ON incident (state, updated)",
        "CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, kind TEXT NOT NULL,"
        " subject TEXT NOT NULL, text TEXT NOT NULL, detail TEXT NOT NULL)",
        "CREATE INDEX event_time ON event (time)",
    ),
)


class JournalEvent(NamedTuple):
    """`id` grows with each event; `time` is seconds since the epoch."""

    id: int
    time: float
    kind: str
    subject: str
    text: str
    detail: dict[str, Any]


class JournalReader:
    """The journal of a state directory. Raises StoreError when it is not there, newer or damaged. One thread uses it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._db = database.open_reader(self.path, SCHEMA)
        self.unreadable = 0
        """Incidents whose record could not be read; they are left out of what is given."""

    def close(self) -> None:
        self._db.close()

    def unresolved(self) -> list[Incident]:
        """The incidents that last, oldest first."""
        return self._incidents("SELECT data FROM incident WHERE state != 'resolved' ORDER BY opened, id", [])

    def incident(self, name: str) -> Incident | None:
        found = self._incidents("SELECT data FROM incident WHERE id = ?", [name.encode("utf-8", "backslashreplace").decode()])
        return found[0] if found else None

    def incidents(
        self, start: float | None = None, end: float | None = None, fault: str = "", state: str = "", limit: int = 100
    ) -> list[Incident]:
        """Incidents that lasted at some time from `start` to `end` (None: any), newest first. `fault`: an id of the taxonomy, or
        the beginning of one and `*`. `state` "": any."""
        where, values = ["1"], list[object]()
        if start is not None:
            where.append("(resolved IS NULL OR resolved >= ?)")
            values.append(start)
        if end is not None:
            where.append("opened <= ?")
            values.append(end)
        if state:
            where.append("state = ?")
            values.append(state)
        _like(where, values, "fault", fault)
        return self._incidents(
            f"SELECT data FROM incident WHERE {' AND '.join(where)} ORDER BY opened DESC, id LIMIT ?", [*values, max(0, limit)]
        )

    def events(
        self, start: float | None = None, end: float | None = None, kind: str = "", subject: str = "", limit: int = 100
    ) -> list[JournalEvent]:
        """Events from `start` to `end`, newest first. `kind` and `subject`: exactly, or a beginning and `*`."""
        where, values = ["1"], list[object]()
        if start is not None:
            where.append("time >= ?")
            values.append(start)
        if end is not None:
            where.append("time <= ?")
            values.append(end)
        _like(where, values, "kind", kind)
        _like(where, values, "subject", subject)
        rows = self._rows(
            f"SELECT id, time, kind, subject, text, detail FROM event WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
            [*values, max(0, limit)],
        )
        return [event_of(row) for row in rows]

    def _incidents(self, question: str, values: list[object]) -> list[Incident]:
        found = []
        for (data,) in self._rows(question, values):
            try:
                found.append(plain.to_incident(json.loads(data)))
            except (ValueError, TypeError, RecursionError):
                self.unreadable += 1
        return found

    def _rows(self, question: str, values: Iterable[object]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(question, tuple(values)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} cannot be read: {error}", "the daemon sets a damaged file aside") from error


def _like(where: list[str], values: list[object], column: str, wanted: str) -> None:
    wanted = wanted.encode("utf-8", "backslashreplace").decode()
    if wanted.endswith("*"):
        where.append(f"substr({column}, 1, ?) = ?")
        values += [len(wanted) - 1, wanted[:-1]]
    elif wanted:
        where.append(f"{column} = ?")
        values.append(wanted)


def event_of(row: tuple[Any, ...]) -> JournalEvent:
    try:
        detail = json.loads(row[5])
    except (ValueError, TypeError, RecursionError):
        detail = {}
    return JournalEvent(
        int(row[0]), float(row[1]), str(row[2]), str(row[3]), str(row[4]), detail if isinstance(detail, dict) else {}
    )
