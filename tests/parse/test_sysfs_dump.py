from __future__ import annotations

from hypothesis import given
from parse_support import check_golden, check_never_raises, damaged, facts, fixture, lines_of, records

from neuronwatch.judge.derive.devices import derive
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact
from neuronwatch.parse.sysfs_dump import FORMAT

FOLDER = "sysfs_dump"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def summed(text: str) -> dict[str, object]:
    return {fact.name: fact.value for fact in derive(FactsView(r for r in records(FORMAT, text) if isinstance(r, Fact)))}


def test_full_tree() -> None:
    text = fixture("sysfs_dump/trn1-nd0-1-ecc-errors.txt")
    found = facts(records(FORMAT, text))
    assert found["driver.loaded"] == "2.25.4.0"
    assert found["neuron.architecture"] == "trn1"
    assert found["neuron.physical_cores_per_device"] == 2
    assert "nd0:nc0 hw_nc_ue_error 1" in found["neuron.core_errors"]
    assert (summed(text)["neuron.ecc_uncorrected"], summed(text)["neuron.ecc_repairable"]) == (3, 1)


def test_chunks_of_a_long_dump_add_up() -> None:
    text = fixture("sysfs_dump/trn1-nd0-1-ecc-errors.txt")
    lines = lines_of(text)
    parts = [record for at in range(0, len(lines), 40) for record in FORMAT.parse(lines[at : at + 40])]
    view = FactsView(record for record in parts if isinstance(record, Fact))
    assert {fact.name: fact.value for fact in derive(view)} == summed(text)


def test_headers_of_tail_and_grep() -> None:
    assert facts(records(FORMAT, fixture("sysfs_dump/tail-headers.txt")))["driver.loaded"] == "2.21.37.0"
    assert summed(fixture("sysfs_dump/tail-headers.txt"))["neuron.ecc_uncorrected"] == 2
    found = facts(records(FORMAT, fixture("sysfs_dump/grep-recursive.txt")))
    assert found["neuron.unhealthy"] == ("nd1 hbm,sram",)
    assert found["neuron.core_errors"] == ("nd1:nc0 hw_error 1",)


def test_healthy_is_zero() -> None:
    assert summed(fixture("sysfs_dump/trn1.2xlarge-driver-2.25.4.txt"))["neuron.ecc_uncorrected"] == 0
    assert "neuron.core_errors" not in facts(records(FORMAT, fixture("sysfs_dump/trn1.2xlarge-driver-2.25.4.txt")))
