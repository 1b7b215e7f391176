"""A recording as a feed: judged through the path of the daemon, shown at the speed at which it came.

Going back judges the recording again from its beginning up to that moment, as fast as it can be read: incidents are as they were,
not as they became.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from neuronwatch.daemon import jobs, rule_rows, status, texts
from neuronwatch.daemon.client import NoDaemon
from neuronwatch.daemon.replay import Replay
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.live import Delivery
from neuronwatch.source.live.api import Now
from neuronwatch.store.errors import StoreError
from neuronwatch.store.frames import Splitter
from neuronwatch.tui.draw import units
from neuronwatch.tui.feed.api import Tell
from neuronwatch.tui.feed.live import MOST_TAILS, TAIL
from neuronwatch.tui.view.logs import is_records
from neuronwatch.tui.view.picture import Link

EVERY = 1.0
"""Seconds of ours between two looks at the verdict, sources and jobs."""


class Replayed:
    """`speed`: how much faster than it came. Raises StoreError where there is no recording."""

    def __init__(self, directory: str, rules: RuleSet, speed: float = 1.0) -> None:
        self._directory, self._rules, self._speed = directory, rules, speed
        self._replay = Replay(directory, rules)
        span = self._replay.span()
        if span is None:
            raise StoreError(f"{directory} is an empty recording", "record for longer")
        self._first, self._last = span
        self._now = self._first
        self._target: float | None = None
        self._paused = False
        self._ended = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._splitter = Splitter()
        self._needs: tuple[str, ...] = ()
        self._asked = False
        """Whether the page needs something else than before."""
        self._hears = False
        """Whether lines are told as they come: since the page with them was opened."""

    def start(self, tell: Tell) -> None:
        self._thread = threading.Thread(target=self._run, args=(tell,), name="replay", daemon=True)
        self._thread.start()

    def need(self, names: tuple[str, ...]) -> None:
        if names != self._needs:
            self._needs, self._asked = names, True
            self._hurry.set()

    def call(self, method: str, **params: Any) -> Any:
        raise NoDaemon("this is a recording: nothing can be done in it")

    def close(self) -> None:
        self._ended.set()
        self._hurry.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def seek(self, step: float) -> None:
        """So many seconds of the recording back or forth."""
        base = self._now if self._target is None else self._target
        target = min(self._last, max(self._first, base + step))
        if target != base:
            self._target = target
            self._hurry.set()

    def pause(self, on: bool) -> None:
        self._paused = on
        self._hurry.set()

    def once(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """How things stood at its end."""
        found: list[tuple[str, Any]] = [("link", Link("replay", self._first))]
        shown: dict[tuple[str, ...], dict[str, Any]] = {}
        for item, now in self._replay.steps():
            self._keep(shown, item)
            self._now = now.wall
        self._replay.finish()
        return [*found, *(("samples", sample) for sample in shown.values()), *self._state("the end of the recording"),
                *self._needed(needs)]  # fmt: skip

    def more(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """What a page turns out to need after it was drawn."""
        return self._needed(needs)

    def _run(self, tell: Tell) -> None:
        self._target = self._first if self._target is None else self._target
        replay = self._replay
        while not self._ended.is_set():
            tell([("anew", True), ("link", Link("replay", self._first))])
            try:
                self._play(replay, tell)
            except StoreError as error:
                tell([("link", Link("lost", time.time(), str(error)))])
                return
            if self._ended.is_set():
                return
            replay = self._replay = Replay(self._directory, self._rules)

    def _play(self, replay: Replay, tell: Tell) -> None:
        """Until somebody goes back, or the end of all."""
        shown: dict[tuple[str, ...], dict[str, Any]] = {}
        begun = (self._first, time.monotonic())
        due = 0.0
        for item, now in replay.steps():
            if self._target is not None and now.wall < self._target:
                self._keep(shown, item)
                continue
            if self._target is not None:  # there: tell how things stand
                self._now, self._target = now.wall, None
                self._hears = False
                tell([*(("samples", sample) for sample in shown.values()), *self._state(), *self._needed(self._needs)])
                begun = (now.wall, time.monotonic())
                shown.clear()
            begun = self._wait(now.wall, begun, tell)
            if self._ended.is_set() or (self._target is not None and self._target < now.wall):
                return
            self._now = now.wall
            found: list[tuple[str, Any]] = [("time", now.wall)]
            if item.readings:
                found.append(("samples", status.samples(item, self._splitter)))
            if self._hears and item.appended:
                found.append(("lines", status.lines(item, replay.intake.tails)))
            if time.monotonic() >= due:
                due = time.monotonic() + EVERY
                found += [*self._state(), *self._needed(tuple(name for name in self._needs if name != "logs" or not self._hears))]
            tell(found)
        replay.finish()
        self._now, self._target = self._last, None
        end = [*self._state("the end of the recording"), *self._needed(self._needs)]
        tell([*(("samples", sample) for sample in shown.values()), *end])
        while not self._ended.is_set() and self._target is None:
            self._hurry.wait()
            self._hurry.clear()
            self._answer(tell)

    def _answer(self, tell: Tell) -> None:
        """What a page needs that was opened just now."""
        if self._asked:
            self._asked = False
            tell(self._needed(self._needs))

    def _needed(self, needs: tuple[str, ...]) -> list[tuple[str, Any]]:
        """As the daemon would answer. What is no part of a recording is not told."""
        replay = self._replay
        now = Now(self._now, replay.mono)
        found: list[tuple[str, Any]] = []
        for need in needs:
            name, _, subject = need.partition(" ")
            if name == "processes":
                found.append((name, replay.processes(now)))
            elif name == "rules":
                found.append((name, rule_rows.rules(replay.watch, replay.rules, now)))
            elif name == "why":
                found.append((name, rule_rows.why(replay.watch, replay.rules, subject, now)))
            elif name == "evidence":
                item = next((item for item in replay.watch.incidents() if item.id == subject), None)
                found.append((name, texts.evidence(item, replay.intake) if item is not None else None))
            elif name == "logs":
                tails = replay.intake.tails
                found.append((name, [texts.tail(tails, path, TAIL) for path in tails.paths() if not is_records(path)][:MOST_TAILS]))
                self._hears = True
        return found

    def _wait(self, wall: float, begun: tuple[float, float], tell: Tell) -> tuple[float, float]:
        """Until the moment has come; the beginning from which it is counted moves with a pause."""
        while not self._ended.is_set() and self._target is None:
            self._answer(tell)
            if self._paused:
                self._hurry.wait()
                begun = (wall, time.monotonic())
            left = begun[1] + (wall - begun[0]) / self._speed - time.monotonic()
            if left <= 0 and not self._paused:
                break
            self._hurry.wait(max(0.0, left))
            self._hurry.clear()
        return begun

    def _keep(self, shown: dict[tuple[str, ...], dict[str, Any]], item: Delivery) -> None:
        """The last values of each shape."""
        if item.readings:
            sample = status.samples(item, self._splitter)
            key: tuple[str, ...] = (item.source, *sample["metrics"])
            shown[key] = sample

    def _state(self, more: str = "") -> list[tuple[str, Any]]:
        """The verdict, incidents, sources, facts and jobs of the moment."""
        replay, judged = self._replay, self._replay.judged
        now = Now(self._now, replay.mono)
        document: dict[str, Any] = {
            "verdict": judged.verdict if judged else "unknown",
            "reasons": list(judged.reasons) if judged else ["nothing has been judged yet"],
            "time": now.wall, "daemon": {}, "conditions": [], "unknown": list(judged.diagnosis.unknown) if judged else [],
            "incidents": [status.incident(item) for item in judged.incidents if item.state != "resolved"] if judged else [],
            "sources": [status.source(item, now.wall) for item in replay.healths(now)],
        }  # fmt: skip
        facts = {name: status.shown_value(name, value) for name, value in judged.diagnosis.facts.items()} if judged else {}
        place = f"{units.span(self._now - self._first)} of {units.span(self._last - self._first)}"
        caption = f"replay {place} at {self._speed:g}x{'; ' + more if more else ''}"
        return [
            ("time", now.wall), ("status", document), ("facts", facts), ("jobs", jobs.jobs(replay.followed(), now.mono)),
            ("incidents", [status.incident(item) for item in judged.incidents] if judged else []), ("caption", caption),
        ]  # fmt: skip
