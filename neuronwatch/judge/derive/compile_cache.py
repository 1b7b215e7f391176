"""Counts of the compile cache from the single readings of logs and listings, which lie far apart in the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact
from neuronwatch.parse.prefix import line_time

_COUNTS = {
    "cache.hits": "cache.hit",
    "cache.cached_failures": "cache.cached_failure",
    "cache.locks": "cache.lock",
    "cache.empty_neffs": "cache.empty_neff",
    "cache.failed_entries": "cache.failed_entry",
}
SAME_START = 600.0
"""Seconds between the hosts of one job that start together, at most."""
_OF_LISTINGS = ("cache.locks", "cache.empty_neffs", "cache.failed_entries")


def derive(facts: FactsView) -> Iterable[Fact]:
    """`cache.*` counts, `cache.dirs`, `cache.wait_minutes` and `compiler.codes`. What a listing does not show is 0 where
    there is a listing; what a log does not print is unknown."""
    for name, reading in _COUNTS.items():
        found = facts.all(reading)
        if found:
            yield Fact(name, len(found), found[0].origin)
        elif name in _OF_LISTINGS:
            listing = facts.first("cache.entries")
            if listing is not None:
                yield Fact(name, 0, listing.origin)
    yield from _compiles(facts)
    yield from _lock_age(facts)
    yield from _missed_by_flags(facts)
    yield from _recompiled(facts)
    for name, reading in (("cache.dirs", "cache.dir"), ("compiler.codes", "compiler.code")):
        found = facts.all(reading)
        if found:
            yield Fact(name, tuple(dict.fromkeys(str(fact.value) for fact in found)), found[0].origin)
    waits = [fact for fact in facts.all("cache.waited") if isinstance(fact.value, float)]
    if waits:
        longest = max(waits, key=lambda fact: fact.value if isinstance(fact.value, float) else 0.0)
        yield Fact("cache.wait_minutes", longest.value, longest.origin)


def _lock_age(facts: FactsView) -> Iterator[Fact]:
    """Seconds from the oldest lock to the capture; `ls -l` leaves out the year of the last months."""
    now = facts.get("host.now")
    if not isinstance(now, (int, float)) or isinstance(now, bool):
        return
    year = datetime.fromtimestamp(now, timezone.utc).year
    ages: list[tuple[float, Fact]] = []
    for lock in facts.all("cache.lock_time"):
        if isinstance(lock.value, float):
            ages.append((now - lock.value, lock))
    for lock in facts.all("cache.lock_stamp"):
        times = [line_time(f"{lock.value}:00", guess) for guess in (year, year - 1)]
        past = [time for time in times if time is not None and time <= now + 86_400]
        if past:
            ages.append((now - max(past), lock))
    if ages:
        age, lock = max(ages, key=lambda item: item[0])
        yield Fact("cache.lock_age", max(age, 0.0), lock.origin)


def _missed_by_flags(facts: FactsView) -> Iterator[Fact]:
    """Graphs that one start has (as hits or compiled by itself) and another compiles again because the flags of the key
    (after `+`) are others. Starts are told apart by their logs, and in one log by process and time: a later start's process
    begins when the earlier one's has said its last."""
    spans = _spans(facts)
    hits = {(str(hit.value), _start(hit)) for hit in facts.all("cache.hit")}
    known: dict[str, set[tuple[str, _Start]]] = {}
    for value, start in (*hits, *((str(miss.value), _start(miss)) for miss in facts.all("cache.miss"))):
        module, _, flags = value.partition("+")
        if module and flags:
            known.setdefault(module, set()).add((flags, start))
    missed: dict[str, Fact] = {}
    for miss in facts.all("cache.miss"):
        module, _, flags = str(miss.value).partition("+")
        here = _start(miss)
        others = {other for other, start in known.get(module, set()) if _apart(start, here, spans)}
        hit_here = any(value.startswith(f"{module}+") and not _apart(start, here, spans) for value, start in hits)
        if flags and others and not hit_here and flags not in others:
            missed.setdefault(module, miss)
    if missed:
        yield Fact("cache.missed_by_flags", len(missed), next(iter(missed.values())).origin)


_Start = tuple[str, str]
"""Path of the log and the process that its line names, "" for none."""
_PROCESS = re.compile(r"\d\d:\d\d:\d\d\.\d{6}:\s{1,4}(\d{1,10})\s")


def _start(reading: Fact) -> _Start:
    found = _PROCESS.search(reading.origin.text[:200])
    return reading.origin.path, found.group(1) if found else ""


def _spans(facts: FactsView) -> dict[_Start, tuple[float, float]]:
    """First and last time of each start."""
    spans: dict[_Start, tuple[float, float]] = {}
    for reading in (fact for name in ("cache.hit", "cache.miss", "cache.done") for fact in facts.all(name)):
        time = line_time(reading.origin.text)
        if time is not None:
            first, last = spans.get(_start(reading), (time, time))
            spans[_start(reading)] = (min(first, time), max(last, time))
    return spans


def _apart(one: _Start, other: _Start, spans: dict[_Start, tuple[float, float]]) -> bool:
    """Whether these are two starts: of two logs, or of one log one after the other."""
    if one[0] != other[0]:
        return True
    if one == other or one not in spans or other not in spans:
        return False
    return spans[one][1] < spans[other][0] or spans[other][1] < spans[one][0]


def _recompiled(facts: FactsView) -> Iterator[Fact]:
    """Graphs with the same key that two starts compile: the artifacts of the earlier start are gone. Two hosts of one
    job compile at nearly the same time, so the later start must begin well after the last reading of the earlier one."""
    last: dict[str, float] = {}
    for path, time in _times(facts, ("cache.done", "cache.miss", "cache.hit")):
        last[path] = max(time, last.get(path, time))
    again: dict[str, Fact] = {}
    first: dict[str, str] = {}
    for miss in sorted(facts.all("cache.miss"), key=lambda fact: line_time(fact.origin.text) or 0.0):
        module, began = str(miss.value), line_time(miss.origin.text)
        if not module or began is None:
            continue
        path = first.setdefault(module, miss.origin.path)
        if path != miss.origin.path and began > last[path] + SAME_START:
            again.setdefault(module, miss)
    if again:
        yield Fact("cache.recompiled", len(again), next(iter(again.values())).origin)


def _times(facts: FactsView, names: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Path and time of each reading that has one."""
    for reading in (fact for name in names for fact in facts.all(name)):
        time = line_time(reading.origin.text)
        if time is not None:
            yield reading.origin.path, time


def _compiles(facts: FactsView) -> Iterator[Fact]:
    started, done, failed = (facts.all(name) for name in ("cache.miss", "cache.done", "cache.failed"))
    first = next((found[0] for found in (started, done, failed) if found), None)
    if first is None:
        if facts.all("cache.hit"):  # a log of the cache without any compile
            yield Fact("cache.misses", 0, facts.all("cache.hit")[0].origin)
        return
    # Some releases print only the start of a compile, others only its end.
    # A failure is told by two lines, so a module counts once.
    failures = len({str(fact.value) for fact in failed if fact.value}) + sum(not fact.value for fact in failed)
    yield Fact("cache.misses", max(len(started), len(done) + failures), first.origin)
    modules = {str(fact.value) for fact in (*started, *done) if fact.value}
    if modules:
        yield Fact("cache.modules_compiled", len(modules), first.origin)
