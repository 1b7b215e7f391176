"""A log of any size keeps no more points than fit into memory, and its beginning, its end and its NaNs stay exact."""

from __future__ import annotations

import math

import pytest

from neuronwatch.judge import series
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.records import Origin, Sample


def sample(number: int, value: float, entity: str = "") -> Sample:
    return Sample("loss", value, Origin("a.log", number + 1, f"loss {value}"), entity=entity, index=number)


def test_a_long_run_is_thinned_in_its_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "MOST", 10_000)
    size = 85_000
    view = SeriesView(sample(n, math.nan if n == 40_001 else float(n)) for n in range(size))
    points = view.get("loss")[0].points
    assert len(points) <= 10_000
    numbers = [point.step for point in points]
    assert numbers == sorted(set(numbers)), "in file order"
    assert numbers[: series.FEW] == list(range(series.FEW)) and numbers[-1000:] == list(range(size - 1000, size))
    assert [point.step for point in points if math.isnan(point.value)] == [40_001]
    assert all(point.origin.line == point.step + 1 for point in points)
    assert points[7].origin.text == "loss 7.0" and next(p for p in points if p.step == 40_001).origin.text == "loss nan"


def test_many_ranks_keep_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "MOST_OF_A_FILE", 20_000)
    view = SeriesView(sample(n, float(n), f"rank{rank}") for n in range(1_000) for rank in range(64))
    runs = view.get("loss")
    assert len(runs) == 64 and sum(len(run.points) for run in runs) <= 20_000
    assert {run.points[-1].step for run in runs} == {999} and {run.points[0].step for run in runs} == {0}


def test_absurdly_many_runs_and_numbers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "MOST_OF_A_FILE", 5_000)
    view = SeriesView(sample(n, float(n), f"rank{n}") for n in range(30_000))
    assert 4_000 < len(view.get("loss")) <= 5_001
    assert SeriesView([sample(1, -(10**400))]).get("loss")[0].points[0].value == -math.inf
