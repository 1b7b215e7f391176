"""`journalctl -f` as our child: its entries as lines, each once, also over restarts (by the journal's own cursor)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.child import Child
from neuronwatch.source.live.positions import Positions

PATIENCE = 10.0
"""Seconds in which the journal gives its first entry, where one must be there."""
ONCE = "2000"
"""Entries from before us that are read at first."""


class JournalReader:
    """`match`: options that choose entries. `cursor` is a name in `positions.values`. `never_empty`: an empty journal is none
    (the kernel said something at boot: a journal without it is not this host's, or not for us to read)."""

    def __init__(
        self, root: HostRoot, match: Sequence[str], positions: Positions, cursor: str, *, never_empty: bool = False
    ) -> None:
        self._match = tuple(match)
        self._positions = positions
        self._cursor = cursor
        self._never_empty = never_empty
        self._child = Child(root, ["journalctl"])
        self._began = 0.0
        self.heard = False

    def lines(self) -> list[bytes]:
        """What came since. Raises Absent or Broken, and Absent where the journal has nothing for us."""
        if not self._child.alive:
            self._start()
        try:
            raw_lines = self._child.lines()
        except Broken as error:
            if "cursor" in str(error):  # of a journal that is gone: the next attempt begins without
                self._positions.values.pop(self._cursor, None)
            raise
        found = [line for raw in raw_lines if (line := self._line(raw)) is not None]
        if found:
            self.heard = True
        elif self._never_empty and not self.heard and time.monotonic() - self._began > PATIENCE:
            self._child.kill("journalctl gave nothing")
            raise Absent("the journal has no entry that we may read")
        return found

    def _start(self) -> None:
        known = self._positions.values.get(self._cursor)
        since = [f"--after-cursor={known}"] if isinstance(known, str) else ["-n", ONCE]
        self._child.argv[1:] = [*self._match, "-f", "--no-pager", "-q", "-o", "json", *since]
        self._child.start()
        self._began = time.monotonic()
        self.heard = since[0] != "-n"

    def _line(self, raw: bytes) -> bytes | None:
        """An entry as `journalctl -o short-iso` shows it, in one line."""
        try:
            entry = json.loads(raw)
            stamp = int(entry["__REALTIME_TIMESTAMP"]) / 1e6
            cursor = entry.get("__CURSOR")
            text = _text(entry.get("MESSAGE"))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if isinstance(cursor, str):
            self._positions.values[self._cursor] = cursor
        when = time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(stamp))
        tag = _text(entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "unknown")
        pid = _text(entry.get("_PID") or entry.get("SYSLOG_PID") or "")
        host = _text(entry.get("_HOSTNAME") or "localhost")
        who = f"{tag}[{pid}]" if pid else tag
        head = f"{when} {host} {who}: "
        return head.encode("utf-8", "replace") + " ".join(text.splitlines()).encode("utf-8", "replace") + b"\n"

    def descriptors(self) -> tuple[int, ...]:
        return self._child.descriptors()

    def close(self) -> None:
        self._child.kill("ended")


def _text(value: Any) -> str:
    """A field: text, or numbers of bytes where it is no UTF-8."""
    if isinstance(value, list):
        return bytes(item for item in value if isinstance(item, int) and 0 <= item < 256).decode("utf-8", "replace")
    return value if isinstance(value, str) else ""
