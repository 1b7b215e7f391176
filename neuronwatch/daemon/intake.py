"""What becomes of a delivery: texts become evidence for the judge, readings go to ring and history, lines to the tails."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from neuronwatch.daemon.tails import Tails
from neuronwatch.judge.live import Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.digest import blake2b
from neuronwatch.model.live import Appended, Delivery, Reading, Whole
from neuronwatch.model.records import Fact
from neuronwatch.source import formats
from neuronwatch.source.live.api import Now
from neuronwatch.source.live.scan import LiveScan

EVER = float("inf")


class Kept(NamedTuple):
    """A text as it is now: its source, a fingerprint, and itself, packed (rules that come later are asked of it too)."""

    source: str
    mark: bytes
    packed: bytes


class Readings(Protocol):
    """Where numbers go."""

    def add(self, readings: Sequence[Reading], time: float, source: str) -> None: ...


class Told(NamedTuple):
    """What a source tells without a text, as it is now."""

    facts: Sequence[Fact] | None = None
    reports: Sequence[SourceReport] | None = None
    alive: Mapping[int, float] | None = None


class Intake:
    """Takes deliveries in the loop's thread. The scan lives in the machine's own seconds: what it waits for is the end of a
    line, not the time of a host."""

    def __init__(self, rules: RuleSet, watch: Watch, memory: Readings) -> None:
        self._scan = LiveScan(rules, *formats.shipped())
        self._watch = watch
        self._memory = memory
        self.tails = Tails()
        self.told: dict[str, Told] = {}
        self._wholes: dict[str, Kept] = {}
        self._followed: dict[str, str] = {}
        """Path to source."""

    def take(self, delivery: Delivery, now: Now) -> None:
        source = delivery.source
        if delivery.readings:
            self._memory.add(delivery.readings, delivery.time, source)
        for whole in delivery.wholes:
            self._whole(source, whole, now)
        for appended in delivery.appended:
            self._appended(source, appended, now)
        told = self.told.get(source, Told())
        if delivery.facts is not None:
            told = told._replace(facts=delivery.facts)
            self._watch.facts(source, delivery.facts, now)
        if delivery.reports is not None:
            told = told._replace(reports=delivery.reports)
            self._watch.reports(source, delivery.reports, now)
        if delivery.alive is not None:
            told = told._replace(alive=delivery.alive)
            self._watch.processes(source, delivery.alive)
        self.told[source] = told

    def sieve(self, path: str, data: bytes, _now: float) -> list[tuple[int, int]]:
        """What is kept of a flood of lines (see `LiveScan.sieve`)."""
        return self._scan.sieve(path, data, time.monotonic())

    def quiet_in(self) -> float:
        """Real seconds until `quiet` has something to do."""
        due = self._scan.due()
        return due if due == EVER else max(0.0, due - time.monotonic())

    def quiet(self, now: Now) -> None:
        """Tells the judge what may still go on, of texts that are quiet now."""
        self._watch.observe(self._scan.quiet(time.monotonic()), now)

    def settle(self, now: Now) -> None:
        """No text goes on any more: what is still open is told as it is."""
        for path in self._scan.paths():
            self._watch.observe(self._scan.end(path), now)

    def renew(self, rules: RuleSet, now: Now) -> None:
        """Other rules: the watch takes them, texts as they are now are read again, followed ones go on where they are."""
        old, self._scan = self._scan, self._scan.renewed(rules)
        for path in old.paths():
            self._watch.observe(old.end(path), now)
        self._watch.reload(rules, now)
        for path, kept in self._wholes.items():
            evidence = self._scan.whole(Whole(path, zlib.decompress(kept.packed)))
            self._watch.replace(kept.source, path, evidence, now)

    def wholes(self) -> Iterable[tuple[str, bytes]]:
        """All texts as they are now, by path."""
        return ((path, zlib.decompress(kept.packed)) for path, kept in sorted(self._wholes.items()))

    def whole(self, path: str) -> bytes | None:
        """One text as it is now; None: there is none."""
        kept = self._wholes.get(path)
        return None if kept is None else zlib.decompress(kept.packed)

    def wholes_of(self) -> Iterable[tuple[str, str, bytes]]:
        """The same with their sources."""
        return ((kept.source, path, zlib.decompress(kept.packed)) for path, kept in sorted(self._wholes.items()))

    def tails_of(self) -> Iterable[tuple[str, str, bytes]]:
        """Source, path and the last lines of each followed text."""
        for path in self.tails.paths():
            text = self.tails.text(path)
            if text and path in self._followed:
                yield self._followed[path], path, text

    def _whole(self, source: str, whole: Whole, now: Now) -> None:
        path = whole.path
        if whole.data is None:
            self._gone(path, now)
            return
        mark = blake2b(whole.data, digest_size=16).digest()
        kept = self._wholes.get(path)
        if kept is not None and kept.mark == mark:
            return
        self._wholes[path] = Kept(source, mark, zlib.compress(whole.data, 1))
        self._watch.replace(source, path, self._scan.whole(whole), now)

    def _gone(self, path: str, now: Now) -> None:
        source = self._followed.pop(path, None)
        if source is not None:
            self._watch.observe(self._scan.end(path), now)
            self._watch.forget(path, now)
            self.tails.forget(path)
        elif self._wholes.pop(path, None) is not None:
            self._watch.forget(path, now)

    def _appended(self, source: str, appended: Appended, now: Now) -> None:
        path = appended.path
        known = path in self._followed
        self._followed[path] = source
        if appended.fresh and known:
            self._watch.observe(self._scan.end(path), now)
        evidence = self._scan.feed(appended, time.monotonic())
        self._watch.append(source, path, evidence, now, appended.fresh and known, appended.records)
        self.tails.add(path, appended.data, appended.dropped, appended.fresh, appended.line, now.wall)
