"""Host memory that rises for ever is told apart from a load that ends level."""

from __future__ import annotations

import json

import pytest

from neuronwatch.judge.detectors import host_memory
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.records import Fact, Origin, Sample
from neuronwatch.parse.api import Line
from neuronwatch.parse.neuron_monitor import parse

GIB = 1024**3


def _detect(used: list[float]) -> dict[str, object]:
    lines = [
        Line("monitor.json", number, text, text)
        for number, text in enumerate(
            (
                json.dumps(
                    {
                        "neuron_runtime_data": [],
                        "system_data": {
                            "memory_info": {
                                "period": 60.0,
                                "memory_total_bytes": 64 * GIB,
                                "memory_used_bytes": int(value * GIB),
                                "swap_total_bytes": 0,
                                "swap_used_bytes": 0,
                                "error": "",
                            }
                        },
                    }
                )
                for value in used
            ),
            1,
        )
    ]
    records = list(parse(lines))
    series = SeriesView(record for record in records if isinstance(record, Sample))
    facts = FactsView(record for record in records if isinstance(record, Fact))
    return {fact.name: fact.value for fact in host_memory.detect(series, facts)}


def test_a_steady_rise_is_growth_with_a_time_to_exhaustion() -> None:
    found = _detect([10 + 2 * step for step in range(20)])
    assert found["host.memory_growing"] is True
    assert found["host.memory_exhaust_seconds"] == pytest.approx((64 - 48) / 2 * 60)


@pytest.mark.parametrize(
    "used",
    [[10.0] * 20, [min(10 + 4 * step, 40) for step in range(20)], [10 + 3 * (step % 2) for step in range(20)]],
    ids=["flat", "load-then-level", "saw"],
)
def test_other_courses_are_not_growth(used: list[float]) -> None:
    assert _detect(used) == {"host.memory_growing": False}


def test_a_few_records_say_nothing() -> None:
    assert _detect([10, 20, 30]) == {}


def _alone(used: list[float]) -> list[object]:
    samples = [Sample("host_memory", value * GIB, Origin("m", step), index=float(step)) for step, value in enumerate(used)]
    return [fact.value for fact in host_memory.detect(SeriesView(samples), FactsView())]


def test_without_a_total_only_what_doubles_and_goes_on_is_growth() -> None:
    assert _alone([40.0 + 18.5 * step for step in range(20)]) == [True]
    assert _alone([40.0 + 18.5 * step for step in range(8)]) == []
    assert _alone([40.0 + 0.5 * step for step in range(20)]) == []
    assert _alone([float(min(10 + 4 * step, 50)) for step in range(20)]) == []
