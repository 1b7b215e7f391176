from __future__ import annotations

import pytest
from hypothesis import given
from parse_support import (
    check_golden,
    check_never_raises,
    check_prefixes,
    damaged,
    facts,
    fixture,
    fixtures,
    readings,
    records,
    triggered,
)

from neuronwatch.model.records import Issue
from neuronwatch.parse.neuron_ls_table import FORMAT

FOLDER = "neuron_ls_table"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER) if not item.name.startswith("cut-")])
def test_prefixes_and_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    check_prefixes(FORMAT, text)
    assert facts(FORMAT.parse(triggered(FORMAT, text))) == facts(records(FORMAT, text))


def test_idle_table() -> None:
    found = facts(records(FORMAT, fixture("neuron_ls_table/l6-trn2-48xlarge-idle.txt")))
    assert found["host.instance_type"] == "trn2.48xlarge"
    assert found["neuron.lnc"] == 2
    assert (found["neuron.devices"], found["neuron.cores"], found["neuron.cores_per_device"]) == (16, 64, 4)
    assert found["neuron.device_memory"] == 96 * 1024**3
    assert found["neuron.busy_pids"] == ()


def test_processes_of_several_rows() -> None:
    found = facts(records(FORMAT, fixture("neuron_ls_table/l6-trn1-32xlarge-torchrun.txt")))
    assert len(found["neuron.busy_pids"]) == 32
    assert found["neuron.busy_devices"] == tuple(range(16))
    assert found["neuron.process_runtimes"] == ("2.28.23",)


def test_tools_own_nothing() -> None:
    found = facts(records(FORMAT, fixture("neuron_ls_table/l2-inf1-6xlarge-all-processes.txt")))
    assert found["neuron.busy_pids"] == (30117,)
    assert found["neuron.busy_devices"] == (0, 1)


def test_two_tables_and_a_bar_in_a_command() -> None:
    found = records(FORMAT, fixture("neuron_ls_table/transcript-two-tables.txt"))
    assert readings(found, "neuron.busy_pids") == [(88121,), ()]
    assert facts(found)["neuron.holders"] == ('sh -c "a | b" x',)


@pytest.mark.parametrize("name", ["cut-end.txt", "cut-beginning.txt"])
def test_a_cut_table_says_nothing_about_the_number_of_devices(name: str) -> None:
    found = records(FORMAT, fixture(f"neuron_ls_table/{name}"))
    assert "neuron.devices" not in facts(found)
    assert facts(found)["neuron.cores_per_device"] == 4
    assert any(isinstance(record, Issue) for record in found)


def test_prose_is_no_table() -> None:
    assert records(FORMAT, "| a | b |\n|---|---|\n| 0 | 2 |\nneuron-ls shows 16 devices, NEURON DEVICE 0") == []
    assert records(FORMAT, "instance-type: see the docs") == []


def test_digits_of_other_scripts() -> None:
    text = fixture("neuron_ls_table/l6-trn1-2xlarge-process.txt")
    for wrong in ("²", "٣", "𝟘"):
        records(FORMAT, text.replace("| 0      |", f"| {wrong}      |").replace("| 2      |", f"| {wrong}0     |"))
        records(FORMAT, f"| {wrong} | {wrong}0 | 32 GB | 00:1e.0 |")
