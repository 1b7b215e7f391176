"""What the daemon kept of an earlier moment: values from memory or disk, incidents with their revisions, the journal's sources."""

from __future__ import annotations

from typing import Any

from neuronwatch.daemon.client import Client
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.tui.view.past import earlier, trail_of
from neuronwatch.tui.view.picture import TRAILED, Picture

BEFORE = 300.0
"""Seconds of the lines of history before the moment."""
POINTS = 60
MOST = 1000


def look_back(client: Client, now: Picture, at: float) -> Picture:
    """Raises NoDaemon; ApiError of a daemon that is older than this."""
    snapshot = client.call("snapshot", at=at)
    incidents = client.call("incidents", limit=MOST)["incidents"]
    try:
        events = client.call("events", kind="source.state", limit=MOST)["events"]
    except ApiError:  # no journal is kept
        events = []
    return earlier(now, at, snapshot, incidents, events, [_trail(client, metric, at) for metric in TRAILED])


def _trail(client: Client, metric: str, at: float) -> dict[str, Any]:
    found = client.call("series", metric=metric, since=at - BEFORE, until=at)
    if found["times"]:
        return {**found, "metric": metric}
    try:
        return trail_of(metric, client.call("history", metric=metric, start=at - BEFORE, end=at, points=POINTS))
    except ApiError:
        return {"metric": metric, "times": [], "columns": {}}
