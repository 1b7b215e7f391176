from __future__ import annotations

import math

import pytest
from store_support import CORES, T0, fill, readings

from neuronwatch.store.errors import StoreError
from neuronwatch.store.history import History, Limits
from neuronwatch.store.history_query import Reader


@pytest.fixture
def history(tmp_path):
    opened = History.open(tmp_path, T0, threaded=False)
    yield opened
    opened.close()


def test_minutes_come_back_exactly(history):
    last = fill(history, T0, 900)
    history.add((), last + 20)
    found = history.query("core.utilization", ["nd0:nc1"], T0, T0 + 60, points=60)
    assert found.width == 1.0 and list(found.times) == [T0 + second for second in range(60)]
    expected = [(10 + (T0 + second) % 10) / 2 for second in range(60)]
    assert list(found.columns["nd0:nc1"].mean) == pytest.approx(expected)
    assert list(found.columns["nd0:nc1"].low) == list(found.columns["nd0:nc1"].high)


def test_windows_come_from_their_statistics(history):
    last = fill(history, T0, 1500)
    history.add((), last + 20)
    found = history.query("core.utilization", None, T0, T0 + 1500, points=5)
    assert list(found.columns) == list(CORES)
    assert found.width == 300.0 and list(found.times) == [T0 + 300 * index for index in range(5)]
    for core, entity in enumerate(CORES):
        column = found.columns[entity]
        assert list(column.low) == pytest.approx([core * 5] * 5)
        assert list(column.high) == pytest.approx([core * 5 + 4.5] * 5)
        assert list(column.mean) == pytest.approx([core * 5 + 2.25] * 5)
    wide = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 1500, points=2)
    assert wide.width == 900.0 and list(wide.columns["nd0:nc0"].high) == pytest.approx([4.5, 4.5])


def test_absence_is_kept_with_its_reason(history):
    fill(history, T0, 300, value=lambda core, when: None if core == 1 and T0 + 100 <= when < T0 + 200 else 7.0)
    last = fill(history, T0 + 300, 300, value=lambda core, when: None if core == 2 else 0.0)
    history.add((), last + 20)
    found = history.query("core.utilization", None, T0, T0 + 600, points=600)
    one = found.columns["nd0:nc1"].mean
    assert [second for second, value in enumerate(one) if math.isnan(value)] == list(range(100, 200))
    gap = next(gap for gap in found.gaps if gap.entity == "nd0:nc1")
    assert (gap.start, gap.reason) == (T0 + 100, "no runtime")
    coarse = history.query("core.utilization", ["nd1:nc0", "nd0:nc1"], T0, T0 + 600, points=2)
    assert coarse.columns["nd1:nc0"].mean[0] == 7.0 and math.isnan(coarse.columns["nd1:nc0"].mean[1])
    assert list(coarse.columns["nd0:nc1"].mean) == [7.0, 0.0]


def test_what_was_not_recorded_is_no_value(history):
    fill(history, T0, 30)
    fill(history, T0 + 3600, 30)
    found = history.query("core.utilization", ["nd0:nc0"], T0, T0 + 3900, points=13)
    assert [math.isnan(value) for value in found.columns["nd0:nc0"].mean] == [False, *[True] * 11, False]
    assert found.gaps == []
    assert history.query("no.metric", None, T0, T0 + 10).columns == {}
    assert all(
        math.isnan(value) for value in history.query("core.utilization", ["nd77:nc0"], T0, T0 + 600).columns["nd77:nc0"].mean
    )


def test_entities_that_change_within_a_window(history):
    for second in range(310):
        time = T0 + second
        history.add(readings(time, (f"pid{second // 50}", f"pid{second // 50 + 1}"), lambda core, when: 5.0 + core), time)
    history.add((), T0 + 330)
    found = history.query("core.utilization", None, T0, T0 + 300, points=1)
    assert list(found.columns) == [f"pid{number}" for number in range(7)]
    assert list(found.columns["pid1"].mean) == [pytest.approx(5.5)]


def test_a_second_process_reads_while_the_daemon_writes(history, tmp_path):
    fill(history, T0, 700)
    reader = Reader(tmp_path)
    before = reader.query("core.utilization", ["nd0:nc0"], T0, T0 + 3000, points=10).columns["nd0:nc0"].mean
    fill(history, T0 + 700, 700)
    after = reader.query("core.utilization", ["nd0:nc0"], T0, T0 + 3000, points=10).columns["nd0:nc0"].mean
    assert sum(map(math.isnan, before)) == 7 and sum(map(math.isnan, after)) == 5
    assert reader.metrics() == ["core.utilization"] and reader.entities("core.utilization", T0, T0 + 10) == list(CORES)
    reader.close()


def test_nothing_is_lost_over_a_restart(tmp_path):
    first = History.open(tmp_path, T0, threaded=False)
    last = fill(first, T0, 137)
    first.close()
    second = History.open(tmp_path, last + 60, threaded=False)
    last = fill(second, T0 + 200, 137)
    second.add((), last + 400)
    found = second.query("core.utilization", ["nd0:nc0"], T0, T0 + 400, points=400)
    present = [second for second, value in enumerate(found.columns["nd0:nc0"].mean) if not math.isnan(value)]
    assert present == [*range(137), *range(200, 337)]
    second.close()


def test_a_reader_of_nothing_says_so(tmp_path):
    with pytest.raises(StoreError, match="there is no"):
        Reader(tmp_path)


def test_a_thread_writes_and_close_waits_for_it(tmp_path):
    history = History.open(tmp_path, T0)
    fill(history, T0, 400)
    assert history.close(timeout=60)
    assert history.health().state == "closed" and history.close()
    reader = Reader(tmp_path)
    assert (
        sum(
            not math.isnan(value)
            for value in reader.query("core.utilization", ["nd0:nc0"], T0, T0 + 400, 400).columns["nd0:nc0"].mean
        )
        == 400
    )
    reader.close()


def test_limits_are_plain(tmp_path):
    assert Limits().days == 30.0


def test_a_source_whose_clock_is_behind_fills_blocks_too(tmp_path):
    history = History.open(tmp_path, T0, threaded=False)
    for second in range(1200):
        history.add(readings(T0 + second), T0 + second)
        history.add(readings(T0 + second - 700, metric="host.cpu"), T0 + second - 700)
        history.add((), T0 + second)
    history.add((), T0 + 1300)
    history.add((), T0 + 1400)
    reader = Reader(tmp_path)
    spans = reader._spans("host.cpu", T0 - 900, T0 + 1000)
    assert len(spans) <= 5 + 2 and history.health().state == "ok"
    reader.close()
    history.close()


def test_a_long_absence_is_one_gap_and_many_are_bounded(history, monkeypatch):
    last = fill(history, T0, 1500, value=lambda core, when: None if core == 1 or (core == 2 and when % 60 < 20) else 1.0)
    history.add((), last + 20)
    gaps = history.query("core.utilization", None, T0, T0 + 1500, points=5).gaps
    assert [gap[1:] for gap in gaps if gap.entity == "nd0:nc1"] == [(pytest.approx(T0), pytest.approx(last), "no runtime")]
    assert len([gap for gap in gaps if gap.entity == "nd1:nc0"]) in (25, 26)
    monkeypatch.setattr("neuronwatch.store.history_query.MAX_GAPS", 7)
    assert len(history.query("core.utilization", None, T0, T0 + 1500, points=5).gaps) == 7


def test_a_mean_over_blocks_weighs_their_rows(history):
    fill(history, T0, 300, value=lambda core, when: 10.0)
    fill(history, T0 + 300, 300, 3.0, value=lambda core, when: 30.0)
    last = fill(history, T0 + 600, 600, value=lambda core, when: 10.0)
    history.add((), last + 20)
    found = history.query("core.utilization", ["nd0:nc1"], T0, T0 + 1200, points=2).columns["nd0:nc1"]
    assert list(found.mean) == pytest.approx([15.0, 10.0]) and list(found.high) == [30.0, 10.0] and list(found.low) == [10.0, 10.0]
