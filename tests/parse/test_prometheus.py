"""The format `prometheus`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given
from parse_support import facts, fixture, readings, records, samples, triggered

from neuronwatch.parse import prometheus


def test_golden() -> None:
    check_golden("prometheus", prometheus.FORMAT)


@given(hostile("prometheus"))
def test_never_raises(text: str) -> None:
    survive(prometheus.FORMAT, text)


PAGE = "prometheus/neuron-monitor-exporter.txt"


def test_exporter_says_what_json_says() -> None:
    found = list(prometheus.FORMAT.parse(triggered(prometheus.FORMAT, fixture(PAGE))))
    assert [(item.entity, round(item.value or 0, 2), item.unit) for item in samples(found, "utilisation")] == [
        ("nd0:nc0", 89.38, "%"),
        ("nd0:nc1", 88.91, "%"),
    ]
    known = facts(found)
    assert known["neuron.exec_errors"] == ("timed_out 2",)
    assert known["neuron.ecc_record"] == 1
    assert known["neuron.memory_used"] == 18691698688


def test_a_page_fetched_twice_is_not_added_up() -> None:
    text = fixture(PAGE)
    same = records(prometheus.FORMAT, text + text)
    assert readings(same, "neuron.exec_errors") == [("timed_out 2",)] and readings(same, "neuron.ecc_record") == [1]


def test_two_runtimes_and_what_is_no_count() -> None:
    row = 'execution_errors_total{{error_type="hardware",runtime_tag="{tag}"}} {value}'
    rows = [("1", "2.0"), ("2", "3.0"), ("3", "NaN"), ("4", "1e400"), ("5", "-4")]
    text = "\n".join(row.format(tag=tag, value=value) for tag, value in rows)
    assert readings(records(prometheus.FORMAT, text), "neuron.exec_errors") == [("hardware 5",)]
    created = 'execution_errors_created{error_type="hardware"} 1.78e+09'
    assert records(prometheus.FORMAT, created) == []
