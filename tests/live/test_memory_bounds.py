"""What a watch keeps of records that come each minute for weeks: no text of any size, and not more from hour to hour."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from case_support import rules
from tool_support import record, runtime

from neuronwatch.daemon.intake import Intake
from neuronwatch.judge import live
from neuronwatch.judge.live import LIVE, Watch
from neuronwatch.judge.series import Bounds, SeriesView
from neuronwatch.model.live import Appended, Delivery, Now, Reading
from neuronwatch.model.records import MAX_TEXT, Fact, Origin, Sample
from neuronwatch.parse import neuron_monitor
from neuronwatch.parse.api import Line
from neuronwatch.source.live.monitor_record import told
from neuronwatch.source.live.neuron_monitor import PATH

MINUTE = 60.0


class Nowhere:
    def add(self, readings: Sequence[Reading], time: float, source: str) -> None: ...


class Watched:
    def __init__(self) -> None:
        self.watch = Watch(rules())
        self.intake = Intake(rules(), self.watch, Nowhere())
        self.minute = 0

    def say(self, text: bytes) -> None:
        now = Now(1.8e9 + self.minute * MINUTE, self.minute * MINUTE)
        line = b"2026-12-01T00:00:00Z " + told(text) + b"\n"
        self.intake.take(Delivery("neuron-monitor", now.wall, appended=[Appended(PATH, line, not self.minute, records=True)]), now)
        self.intake.quiet(now)
        if self.minute % 30 == 29:
            self.watch.conclude(now, ())
        self.minute += 1

    def facts(self) -> list[Fact]:
        return self.watch._state.file(PATH).facts


def held_texts(root: object) -> list[str]:
    """All strings that can be reached through instances and containers, without code."""
    found, seen, stack = [], set(), [root]
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, type) or callable(item):
            continue
        seen.add(id(item))
        if isinstance(item, str):
            found.append(item)
        elif type(item).__name__ != "module":
            stack += gc.get_referents(item)
    return found


def busy(number: int, memory_used: int = 10) -> dict[str, Any]:
    """A record of many runtimes, as long as those of the largest hosts."""
    text = record(*(runtime(100 + core, {str(core): 50.0 + number}) for core in range(16)))
    for item in text["neuron_runtime_data"]:
        item["report"]["memory_used"]["loaded_models"] = [{"name": "x" * 2000, "uuid": str(number)}] * 4
    text["system_data"]["memory_info"] = {
        "period": 1.0, "memory_total_bytes": 1000, "memory_used_bytes": memory_used, "swap_total_bytes": 0, "swap_used_bytes": 0,
    }  # fmt: skip
    return text


def test_after_hours_of_records_no_text_is_kept_whole_and_nothing_grows() -> None:
    watched = Watched()
    counts = []
    for number in range(120):
        watched.say(json.dumps(busy(number % 7, 10 + number)).encode())
        if number in (59, 119):
            large = [text[:60] for text in held_texts((watched.watch._state, watched.intake._scan._texts)) if len(text) > MAX_TEXT]
            assert large == []
            counts.append(len(watched.facts()))
    assert counts[0] == counts[1] > 3
    newest = next(fact for fact in watched.facts() if fact.name == "host.memory_available")
    assert newest.value == 1000 - 129 and newest.origin.line == 120


def test_once_everything_is_full_a_record_more_takes_no_object_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not in what is kept of no watch: caches of parsers, of patterns, of whole modules."""
    monkeypatch.setattr(live, "LIVE", Bounds(200, 200, 10, 100))
    watched = Watched()
    blocks = []
    for number in range(400):
        watched.say(json.dumps(busy(number, 10 + number)).encode())
        if number in (199, 399):
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert blocks[1] - blocks[0] < 200, blocks


def test_each_record_is_told_once() -> None:
    watched = Watched()
    for number in range(5):
        watched.say(json.dumps(busy(number)).encode())
    runs = watched.watch._state.file(PATH).series.get("utilisation")
    assert {tuple(point.value for point in run.points) for run in runs} == {(50.0, 51.0, 52.0, 53.0, 54.0)}


def test_the_series_of_a_week_are_bounded() -> None:
    series = SeriesView(bounds=LIVE)
    for minute in range(7 * 24 * 60 // 12):
        origin = Origin(PATH, minute + 1, "x" * MAX_TEXT)
        for core in range(128):
            series.add(Sample("utilisation", float(minute), origin, entity=f"nd0:nc{core}", time=float(minute) or None))
    assert series.tails("utilisation", 1)["nd0:nc0"] == [(None, 839.0, 839.0, 840)]
    runs = series.get("utilisation")
    assert sum(len(run.points) for run in runs) <= LIVE.file
    for run in runs:
        assert (run.points[0].value, run.points[-1].value) == (0.0, 839.0)
        assert (run.points[0].time, run.points[-1].time) == (None, 839.0)
        assert sum(bool(point.origin.text) for point in run.points) <= LIVE.texts
    assert sum(bool(point.origin.text) for run in runs for point in run.points) <= LIVE.texts_of_a_file


def said(text: bytes) -> list[str]:
    found = neuron_monitor.parse([Line(PATH, 1, text.decode(), text.decode())])
    return [
        f"{type(item).__name__} {getattr(item, 'name', '')} {getattr(item, 'entity', '')} {getattr(item, 'value', '')}"
        for item in found
    ]


def test_a_shortened_record_says_the_same() -> None:
    whole = json.dumps(busy(1)).encode()
    short = told(whole)
    assert len(whole) > 5 * len(short)
    assert said(short) == said(whole)
