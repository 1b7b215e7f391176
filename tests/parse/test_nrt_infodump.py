from __future__ import annotations

from hypothesis import given
from parse_support import (
    check_golden,
    check_interleaving,
    check_never_raises,
    check_prefixes,
    damaged,
    events,
    facts,
    fixture,
    records,
    triggered,
)

from neuronwatch.parse.nrt_infodump import FORMAT

FOLDER = "nrt_infodump"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_block() -> None:
    found = facts(records(FORMAT, fixture("nrt_infodump/failure-2024.log")))
    assert found["runtime.version"] == "2.20.22.0"
    assert found["driver.loaded"] == "2.16.7.0"
    assert found["host.kernel"] == "5.15.0-1058-aws"
    assert (found["runtime.status"], found["runtime.failed_in"]) == ("NRT_INVALID", "nrt_load_collectives")
    assert found["runtime.visible_cores"] == "0-23"
    assert found["env.NEURON_RT_ROOT_COMM_ID"] == "localhost:62182"
    assert found["neuron.dge_notifications"] is True


def test_interleaved_writers_are_kept_apart() -> None:
    found = records(FORMAT, fixture("nrt_infodump/two-ranks-interleaved.log"))
    blocks = {event.fields["nrt_version"]: event.fields for event in events(found, "nrt.infodump")}
    assert blocks["2.34.10.0"]["failure"] == "NRT_EXEC_HW_ERR_DMA_ABORT in nrt_execute()"
    assert blocks["2.33.2.0"]["visible_cores"] == "1"


def test_without_headers_prefixes_and_foreign_lines() -> None:
    found = facts(records(FORMAT, fixture("nrt_infodump/without-header.txt")))
    assert found["env.NEURON_RT_VISIBLE_CORES"] == "0"
    assert found["runtime.status"] == "NRT_RESOURCE"
    for name in ("failure-2024.log", "without-header.txt"):
        check_prefixes(FORMAT, fixture(f"nrt_infodump/{name}"))
    check_interleaving(FORMAT, fixture("nrt_infodump/failure-2024.log"))
    text = fixture("nrt_infodump/failure-2024.log")
    assert facts(FORMAT.parse(triggered(FORMAT, text))) == facts(records(FORMAT, text))


def test_assignments_outside_of_a_block_are_not_its_environment() -> None:
    assert records(FORMAT, "NEURON_RT_VISIBLE_CORES=0\nKernel: Linux\n") == []
