"""`neuronwatch top --demo`: a simulated host with a private daemon, and a story of load and faults told in the footer."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.drill import control, place
from neuronwatch.tui.feed.api import Tell
from neuronwatch.tui.feed.live import Live
from neuronwatch.tui.feed.private import Private
from neuronwatch.tui.feed.room import Room

INSTANCE = "trn2.48xlarge"
RATE = 5.0
"""How much faster the host's time runs: what takes minutes is seen within one."""
START = 30.0
"""Seconds until the host is there."""


class Step(NamedTuple):
    """`until`: the story goes on when an incident of the fault is there (opened) or over (resolved), at the latest after `most`
    seconds; then `stay` seconds more."""

    caption: str
    do: str = ""
    fault: str = ""
    until: str = ""
    stay: float = 0.0
    most: float = 60.0


MEMORY, DISK = "hw.uncorrectable-memory", "env.disk-full"
STORY = (
    Step("a healthy host trains: each bar is a core, beside it the memory by class", stay=12.0),
    Step("a memory error strikes a device: what dies of it is not called the cause", "inject", MEMORY, "opened", 4.0),
    Step("the cause stands first: 2 and enter show the chain, the evidence and the fix", stay=18.0),
    Step("the device is replaced: the incident ends when its condition does", "clear", MEMORY, "resolved", 5.0),
    Step("now the disk fills up: the next checkpoint cannot be written", "inject", DISK, "opened", 18.0),
    Step("somebody makes room, the job starts again", "clear", DISK, "resolved", 5.0),
)
"""Captions fit beside nothing else in 80 columns."""


class Demo(Live):
    """The feed of the demonstration. The host starts at once, the daemon when the host is there."""

    def __init__(self, room: Room) -> None:
        self.host = room.directory / "host"
        self._room = room
        self._process = room.start(
            "host", ["drill", "host", "--dir", str(self.host), "--instance", INSTANCE, "--rate", f"{RATE:g}"]
        )
        self._private = Private(room, ["--host-root", str(self.host)])
        self._over = threading.Event()
        super().__init__(self._private.socket, self._begin, "demo")

    def _begin(self) -> None:
        due = time.monotonic() + START
        while place.running(self.host) is None:
            if self._process.poll() is not None or time.monotonic() > due:
                raise NoDaemon(f"the simulated host ended: {self._room.said('host') or 'it says nothing'}")
            if self._over.wait(0.05):
                return
        self._private.revive()

    def start(self, tell: Tell) -> None:
        super().start(tell)
        threading.Thread(target=self._story, args=(tell,), name="story", daemon=True).start()

    def close(self) -> None:
        self._over.set()
        self._private.close()
        super().close()

    def once(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """A frame of the story: when its first fault is seen."""
        super().once(())
        step = next(step for step in STORY if step.do == "inject")
        self._play(step, lambda _: None)
        return [*super().once(needs), ("caption", step.caption)]

    def _story(self, tell: Tell) -> None:
        """Again and again, until the end."""
        while not self._seen("", ""):
            if self._over.wait(0.5):
                return
        while not self._over.is_set():
            for number, step in enumerate(STORY, 1):
                self._play(step, lambda caption, n=number: tell([("caption", f"demo {n}/{len(STORY)}: {caption}")]))  # type: ignore[misc]
                if self._over.is_set():
                    return

    def _play(self, step: Step, say: Callable[[str], None]) -> None:
        say(step.caption)
        began = time.monotonic()
        if step.do:
            with contextlib.suppress(control.NoHost):
                control.ask(self.host, {"do": step.do, "fault": step.fault} | ({"near_miss": False} if step.do == "inject" else {}))
        while step.until and time.monotonic() - began < step.most and not self._seen(step.fault, step.until):
            if self._over.wait(0.5):
                return
        self._over.wait(step.stay)

    def _seen(self, fault: str, until: str) -> bool:
        """Whether the daemon tells of an open incident of a fault, or of none any more; without a fault: whether it answers."""
        try:
            with Client(self._path, timeout=5.0) as client:
                found = client.call("incidents", state=["open", "acknowledged"])["incidents"]
        except (NoDaemon, ApiError):
            return False
        there = any(item["fault"] == fault for item in found)
        return not there if until == "resolved" else there or not fault
