from __future__ import annotations

import math

from store_support import CORES, T0, readings

from neuronwatch.model.live import Reading
from neuronwatch.store.frames import MAX_ENTITIES, Splitter
from neuronwatch.store.ring import Ring


def test_series_and_latest():
    ring = Ring()
    for second in range(30):
        ring.add(readings(T0 + second), T0 + second, "neuron-monitor")
    series = ring.series("core.utilization", ["nd0:nc1"], since=T0 + 19)
    assert list(series.times) == [T0 + second for second in range(20, 30)]
    assert list(series.columns["nd0:nc1"]) == [(10 + second % 10) / 2 for second in range(20, 30)]
    assert series.absences == {}
    latest = ring.latest("core.utilization")
    assert list(latest) == list(CORES)
    assert latest["nd0:nc1"] == (T0 + 29, 9.5, "", "neuron-monitor")


def test_absent_is_not_zero_and_says_why():
    ring = Ring()
    for second in range(10):
        ring.add(readings(T0 + second, value=lambda core, when: 0.0 if core or when < T0 + 5 else None), T0 + second)
    series = ring.series("core.utilization")
    column = series.columns["nd0:nc0"]
    assert list(column[:5]) == [0.0] * 5 and all(math.isnan(value) for value in column[5:])
    assert series.absences == {"nd0:nc0": [(5, 9, "no runtime")]}
    assert ring.latest("core.utilization")["nd0:nc0"] == (T0 + 9, None, "no runtime", "")
    assert ring.latest("core.utilization")["nd0:nc1"].value == 0.0


def test_numbers_that_are_none_are_absent():
    ring = Ring()
    odd = [float("nan"), float("inf"), 1e300, None]
    ring.add([Reading("host.cpu", f"nd{index}", value) for index, value in enumerate(odd)], T0)
    points = ring.latest("host.cpu")
    assert [point.value for point in points.values()] == [None] * 4
    assert [point.reason for point in points.values()] == ["not a number", "out of range", "out of range", "no reason told"]


def test_entities_come_and_go():
    ring = Ring()
    ring.add(readings(T0, CORES[:2]), T0)
    ring.add(readings(T0 + 1, CORES[1:3]), T0 + 1)
    ring.add(readings(T0 + 2, CORES[1:3]), T0 + 2)
    series = ring.series("core.utilization")
    assert list(series.columns) == list(CORES[:3])
    assert series.absences == {"nd0:nc0": [(1, 2, "not read")], "nd1:nc0": [(0, 0, "not read")]}
    assert list(ring.latest("core.utilization")) == list(CORES[1:3])  # what the source no longer tells is not the latest
    assert ring.series("core.utilization", ["nd9:nc0"]).absences == {"nd9:nc0": [(0, 2, "not read")]}
    assert ring.series("no.metric").columns == {}


def test_forgets_by_age_and_also_what_nobody_reads():
    ring = Ring(minutes=1)
    ring.add([Reading("host.cpu", "", 5.0)], T0)
    for second in range(300):
        ring.add(readings(T0 + second), T0 + second)
    assert len(ring.series("core.utilization").times) == 61
    assert ring.metrics() == ["core.utilization"] and ring.latest("host.cpu") == {}


def test_a_clock_that_goes_back_and_forth():
    ring = Ring(minutes=1)
    for time in (T0, T0 + 1, T0 + 0.5, T0 + 3600, T0 + 3601, T0 + 10, T0 + 11):
        ring.add(readings(time), time)
    assert list(ring.series("core.utilization").times) == [T0 + 10, T0 + 11]


def test_two_sources_that_pass_each_other_by_little():
    ring = Ring()
    ring.add(readings(T0 + 1, CORES[:2]), T0 + 1, "a")
    ring.add(readings(T0 + 0.9, CORES[2:4]), T0 + 0.9, "b")
    assert list(ring.series("core.utilization").times) == [T0 + 0.9, T0 + 1]
    assert sorted(ring.latest("core.utilization")) == list(CORES[:4])


def test_a_counter_keeps_large_numbers_exactly(monkeypatch):
    from neuronwatch.model import metrics
    from neuronwatch.store import frames

    counter = metrics.Metric("test.errors", "count", "core", "counter", "A test's.")
    monkeypatch.setitem(frames.BY_NAME, "test.errors", counter)
    ring = Ring()
    ring.add([Reading("test.errors", "nd0", 123_456_789_012_345.0)], T0)
    assert list(ring.series("test.errors").columns["nd0"]) == [123_456_789_012_345.0]


def test_a_row_holds_so_many_entities_and_counts_the_rest():
    splitter = Splitter()
    (row,) = splitter.split([Reading("host.cpu", f"pid{pid}", 1.0) for pid in range(MAX_ENTITIES + 7)])
    assert len(row.entities) == MAX_ENTITIES and splitter.left_out == 7


def test_the_last_of_two_readings_of_one_entity_counts():
    (row,) = Splitter().split([Reading("host.cpu", "", 1.0), Reading("host.cpu", "", 2.0)])
    assert list(row.values) == [2.0]


def test_an_earlier_moment_is_told_from_memory():
    ring = Ring()
    for second in range(600):
        ring.add(readings(T0 + second), T0 + second, "neuron-monitor")
    for back in (0, 3, 200, 550):
        at = T0 + 599 - back
        series = ring.series("core.utilization", since=at - 0.5, until=at)
        points = ring.at("core.utilization", at, 60.0)
        assert {entity: point.value for entity, point in points.items()} == {
            name: column[0] for name, column in series.columns.items()
        }
        assert {point.time for point in points.values()} == {at}
    assert ring.at("core.utilization", T0 - 1, 60.0) == {}
    assert ring.at("core.utilization", T0 + 700, 60.0) == {}
