"""Texts as plain data, secrets hidden: the last lines of a followed one, and those that an incident stands on."""

from __future__ import annotations

from typing import Any

from neuronwatch.daemon import status
from neuronwatch.daemon.intake import Intake
from neuronwatch.daemon.tails import Tails
from neuronwatch.model.live import Incident

MAX_TAIL = 1000
MAX_TEXT = 256 * 1024


def tail(tails: Tails, path: str, count: int) -> dict[str, Any]:
    """The last `count` lines of a followed text. `line`: the number of the first of them, `unfinished`: the last one still waits
    for its end, `came`: when each was read (seconds since the epoch), null where it was there before."""
    lines = tails.lines(path, count)
    unfinished = not tails.text(path).endswith(b"\n")
    first = max(0, tails.next_line(path) - len(lines) + unfinished)
    return {
        "path": path, "lines": status.hidden_lines(lines), "dropped": tails.dropped(path), "line": first, "unfinished": unfinished,
        "came": [tails.came(path, first + place) if first else None for place in range(len(lines))],
    }  # fmt: skip


def evidence(item: Incident, intake: Intake) -> dict[str, Any]:
    """An incident with the texts that its findings stand on: as they are now, or their last lines."""
    wholes = dict(intake.wholes())
    files = []
    for path in sorted({place.path for part in item.conditions for place in part.finding.evidence}):
        if path in wholes:
            text = wholes[path].decode("utf-8", "replace")
        else:
            lines = intake.tails.lines(path, MAX_TAIL)
            lines = lines or [place.text for part in item.conditions for place in part.finding.evidence if place.path == path]
            text = "\n".join(lines) + "\n"
        files.append({"path": path, "text": status.hidden(text[:MAX_TEXT])})
    return {"schema": status.INCIDENTS, "incidents": [status.incident(item)], "files": files}
