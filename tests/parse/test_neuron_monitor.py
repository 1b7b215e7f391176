from __future__ import annotations

import json

from hypothesis import given
from parse_support import (
    check_golden,
    check_interleaving,
    check_never_raises,
    check_prefixes,
    damaged,
    facts,
    fixture,
    records,
    samples,
)

from neuronwatch.model.records import Issue
from neuronwatch.parse.neuron_monitor import FORMAT

FOLDER = "neuron_monitor"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_utilisation_entities() -> None:
    found = records(FORMAT, fixture("neuron_monitor/trn2-v3d.jsonl"))
    assert [sample.entity for sample in samples(found, "utilisation")][:4] == ["nd0:nc0", "nd0:nc1", "nd0:nc2", "nd0:nc3"]
    known = facts(found)
    assert (known["host.instance_type"], known["neuron.lnc"], known["neuron.architecture"]) == ("trn2.48xlarge", 2, "trn2")


def test_fragments() -> None:
    counters = records(FORMAT, fixture("neuron_monitor/fragment-counters.json"))
    assert [(sample.entity, sample.value) for sample in samples(counters, "utilisation")] == [("nc0", 0.0), ("nc1", 0.0)]
    assert facts(records(FORMAT, fixture("neuron_monitor/fragment-hw-counters.json"))) == {"neuron.ecc_record": 1}


def test_idle_is_unknown_and_not_zero() -> None:
    found = records(FORMAT, fixture("neuron_monitor/trn1-idle-first.jsonl"))
    assert samples(found, "utilisation") == []
    assert "neuron.memory_used" not in facts(found)


def test_pretty_printed_equals_one_line() -> None:
    text = fixture("neuron_monitor/trn2-v3d-pretty.json")
    assert facts(records(FORMAT, json.dumps(json.loads(text)))) == facts(records(FORMAT, text))


def test_counters_are_summed_and_errors_told() -> None:
    assert facts(records(FORMAT, fixture("neuron_monitor/inf2-timeouts.jsonl")))["neuron.exec_errors"] == (
        "timed_out 2",
        "runtime 2",
    )
    text = '{"system_data": {"neuron_hw_counters": {"neuron_devices": null, "error": "no driver"}}}'
    assert facts(records(FORMAT, text)) == {"monitor.errors": ("neuron_hw_counters: no driver",)}


def test_a_cut_first_record_and_foreign_lines() -> None:
    text = fixture("neuron_monitor/inf2-timeouts.jsonl")
    check_prefixes(FORMAT, text)
    check_interleaving(FORMAT, text)
    cut = text.split("\n")[0][400:]
    found = records(FORMAT, cut)
    assert any(isinstance(record, Issue) for record in found)
    assert facts(found)["host.instance_type"] == "inf2.xlarge"
    assert len(samples(found, "utilisation")) == 2


def test_nan_and_wrong_types() -> None:
    text = '{"neuroncore_counters": {"neuroncores_in_use": {"0": {"neuroncore_utilization": NaN}, "x": 3, "1": null}}}'
    assert records(FORMAT, text) == []
