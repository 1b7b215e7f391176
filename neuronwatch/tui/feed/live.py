"""The daemon's socket as a feed: a thread that subscribes, says at once when the daemon is lost, and connects again by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.tui.feed.api import Tell
from neuronwatch.tui.feed.past import look_back
from neuronwatch.tui.view.logs import is_records
from neuronwatch.tui.view.picture import TRAILED, Link, Picture
from neuronwatch.tui.view.values import ODD

RETRY = 1.0
SLOW = 5.0
"""Seconds between looks at what has no event: facts, and what a page needs."""
TOPICS = ["samples", "health", "conditions", "incidents"]
BEGINS = 20.0
"""Seconds that one frame waits for a daemon that has just started to look at everything once."""
LOOKS = 7.0
STREAMED = ("logs",)
"""What a page needs as a topic: asked for once, then told by events while the page is shown."""
TAIL = 300
MOST_TAILS = 256
"""Lines of a text, and texts, at the beginning."""
QUIET = 3.0
"""Seconds without any event (samples come each second) after which the daemon is asked whether it lives."""


class Live:
    """`revive`: called before each attempt to connect, for a private daemon that may have to be started anew; `named`: how the
    link is called while all is well."""

    def __init__(
        self, socket: Path, revive: Callable[[], None] | None = None, named: Literal["live", "private", "demo"] = "live"
    ) -> None:
        self._path = socket
        self._revive = revive
        self._named = named
        self._needs: tuple[str, ...] = ()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()

    def start(self, tell: Tell) -> None:
        self._thread = threading.Thread(target=self._run, args=(tell,), name="feed", daemon=True)
        self._thread.start()

    def need(self, names: tuple[str, ...]) -> None:
        if names != self._needs:
            self._needs = names
            self._hurry.set()

    def call(self, method: str, **params: Any) -> Any:
        with Client(self._path) as client:
            return client.call(method, **params)

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def once(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """All that is known now; of a daemon that has just started, when it knows how its sources are. Raises NoDaemon."""
        if self._revive is not None:
            self._revive()
        with Client(self._path) as client:
            due = time.monotonic() + (BEGINS if self._revive is not None else 0.0)
            while time.monotonic() < due and not _begun(client):
                time.sleep(0.2)
            found = first(client)
            return [*found, ("link", Link(self._named, found[0][1])), *needed(client, needs)]

    def more(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """What a page turns out to need after it was drawn. Raises NoDaemon."""
        with Client(self._path) as client:
            return needed(client, needs)

    def past(self, now: Picture, at: float) -> Picture:
        with Client(self._path) as client:
            return look_back(client, now, at)

    def _run(self, tell: Tell) -> None:
        while not self._ended.is_set():
            try:
                if self._revive is not None:
                    self._revive()
                with Client(self._path, timeout=5.0) as client:
                    self._follow(client, tell)
            except (NoDaemon, ApiError, OSError) as error:
                tell([("link", Link("lost", 0.0, str(error)))])
            except ODD as error:
                what = f"{type(error).__name__}: {str(error)[:80]}"
                tell([("link", Link("lost", 0.0, f"the daemon's answer cannot be understood ({what}): is it another version?"))])
            self._ended.wait(RETRY)

    def _follow(self, client: Client, tell: Tell) -> None:
        found = first(client)
        tell([*found, ("link", Link(self._named, found[0][1]))])
        client.call("subscribe", topics=TOPICS)
        hears: tuple[str, ...] = ()
        due = time.monotonic() + SLOW
        heard = time.monotonic()
        while not self._ended.is_set():
            event = client.event(0.5)
            if event is not None:
                heard = time.monotonic()
                tell(_told(event, client))
            now = time.monotonic()
            if self._hurry.is_set() or now >= due or now - heard > QUIET:
                self._hurry.clear()
                due = now + SLOW
                needs = self._needs
                streams = tuple(name for name in STREAMED if name in needs)
                if streams != hears:
                    client.call(
                        "subscribe", topics=[*TOPICS, *streams]
                    )  # before the tails: lines in both are known by their numbers
                asked = tuple(name for name in needs if name not in STREAMED or name not in hears)
                hears = streams
                tell([*again(client), *needed(client, asked)])
                heard = time.monotonic()


def _begun(client: Client) -> bool:
    """Whether a daemon has looked at everything, and long enough for what only two looks tell (utilisation, rates)."""
    status = client.call("status")
    if any(item["state"] == "starting" for item in status["sources"]) or status["time"] - status["daemon"]["started"] < LOOKS:
        return False
    return bool(status["sources"])


def first(client: Client) -> list[tuple[str, Any]]:
    """All that is known at the beginning."""
    snapshot = client.call("snapshot")
    found: list[tuple[str, Any]] = [("time", snapshot["time"]), *again(client), ("snapshot", snapshot)]
    for metric in TRAILED:
        try:
            series = client.call("series", metric=metric, since=snapshot["time"] - 600.0)
        except ApiError:
            continue
        found.append(("series", {**series, "metric": metric}))
    incidents = client.call("incidents", limit=200)["incidents"]
    return [*found, ("incidents", incidents), ("link", Link("live", snapshot["time"]))]


def glance(client: Client, figures: bool) -> list[tuple[str, Any]]:
    """How things stand, for one look; `figures`: with the values and the jobs."""
    found = again(client)
    if figures:
        found += [("snapshot", client.call("snapshot")), *needed(client, ("jobs",))]
    return found


def again(client: Client) -> list[tuple[str, Any]]:
    status = client.call("status")
    found: list[tuple[str, Any]] = [("time", status["time"]), ("status", status)]
    try:
        return [*found, ("facts", client.call("facts")["facts"])]
    except ApiError as error:
        if error.code != "unknown-method":
            raise
        return [*found, ("lacks", "facts")]


def tails(client: Client) -> list[dict[str, Any]]:
    """The last lines of each followed text."""
    found = []
    for path in [path for path in client.call("logs")["paths"] if not is_records(path)][:MOST_TAILS]:
        try:
            found.append(client.call("logs", path=path, lines=TAIL))
        except ApiError as error:
            if error.code != "not-found":  # gone meanwhile
                raise
    return found


NEEDS: dict[str, Callable[[Client, str], Any]] = {
    "jobs": lambda client, subject: client.call("jobs", **({"detail": subject} if subject else {}))["jobs"],
    "proposals": lambda client, _: client.call("proposals")["proposals"],
    "processes": lambda client, _: client.call("processes")["processes"],
    "rules": lambda client, _: client.call("rules")["rules"],
    "logs": lambda client, _: tails(client),
    "why": lambda client, subject: client.call("why", rule=subject),
    "evidence": lambda client, subject: client.call("evidence", id=subject),
}
"""What a page may need: the event that the picture gets, and how it is fetched."""


def needed(client: Client, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """What a page needs. A daemon that does not know a method is an older one: the page stays empty and says so."""
    found: list[tuple[str, Any]] = []
    for need in names:
        name, _, subject = need.partition(" ")
        try:
            found.append((name, NEEDS[name](client, subject)))
        except ApiError as error:
            if error.code not in ("unknown-method", "unavailable", "not-found"):
                raise
            if error.code == "unknown-method":
                found.append(("lacks", name))
    return found


def _told(event: dict[str, Any], client: Client) -> list[tuple[str, Any]]:
    topic, data = event.get("event"), event.get("data")
    if topic == "samples" and isinstance(data, dict):
        return [("time", data["time"]), ("samples", data)]
    if topic == "logs":
        return [("lines", data)]
    if topic in ("incidents", "conditions", "health"):
        return again(client)[:2]
    return []
