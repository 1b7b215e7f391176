from __future__ import annotations

import json

import pytest
from hypothesis import given
from parse_support import check_golden, check_never_raises, check_prefixes, damaged, facts, fixture, readings, records

from neuronwatch.model.records import Issue
from neuronwatch.parse.neuron_ls_json import FORMAT

FOLDER = "neuron_ls_json"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_container() -> None:
    found = facts(records(FORMAT, fixture("neuron_ls_json/2.32-trn2-container.json")))
    assert found["host.instance_type"] == "trn2.48xlarge"
    assert found["neuron.lnc"] == 2
    assert found["neuron.busy_pids"] == (771204, 771205)
    assert "neuron.holders" not in found  # commands of another PID namespace are empty


def test_in_a_transcript_and_several() -> None:
    one = fixture("neuron_ls_json/2.22-trn1-2xlarge.json").strip()
    two = fixture("neuron_ls_json/2.22-trn2-lnc2.json").strip()
    found = records(FORMAT, f"$ neuron-ls -j\n{one}[ec2-user@host ~]$ echo [1\n[1\n$ neuron-ls --json-output\n{two}\n")
    assert readings(found, "neuron.devices") == [1, 2]
    assert readings(found, "neuron.cores") == [2, 8]


def test_one_line_and_prefixes() -> None:
    text = fixture("neuron_ls_json/2.30-trn1-three-devices.json")
    check_prefixes(FORMAT, text)
    assert facts(records(FORMAT, json.dumps(json.loads(text)))) == facts(records(FORMAT, text))


@pytest.mark.parametrize("keep", [slice(0, 700), slice(420, None)])
def test_cut(keep: slice) -> None:
    found = records(FORMAT, fixture("neuron_ls_json/2.22-trn2-lnc2.json")[keep])
    assert facts(found)["neuron.cores_per_device"] == 4
    assert facts(found)["neuron.busy_pids"] == (40961,)
    assert "neuron.devices" not in facts(found)
    assert any(isinstance(record, Issue) for record in found)


def test_wrong_types() -> None:
    text = '[{"neuron_device": "x", "nc_count": []}, {"neuron_device": 1, "nc_count": "4", "neuron_processes": [3]}]'
    assert facts(records(FORMAT, text))["neuron.cores"] == 4


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("used", [10389293056, 512, 0])
def test_memory_of_neuron_monitor_is_no_device(indent: int | None, used: int) -> None:
    """`"neuron_device"` is a number of bytes there; whole and cut records, on one line and pretty-printed."""
    bytes_used = {
        "host": 1,
        "neuron_device": used,
        "usage_breakdown": {"host": {}, "neuroncore_memory_usage": {"0": {"tensors": 4}}},
    }
    report = {"memory_used": {"period": 5.0, "neuron_runtime_used_bytes": bytes_used, "error": ""}}
    text = json.dumps({"neuron_runtime_data": [{"pid": 18342, "report": report}], "instance_info": {}}, indent=indent)
    for part in (text, text[text.index('"host"') :], text[: text.index("usage_breakdown")]):
        assert records(FORMAT, part) == []
