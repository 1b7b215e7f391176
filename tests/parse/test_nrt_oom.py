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

from neuronwatch.parse.nrt_oom import FORMAT

FOLDER = "nrt_oom"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_bullets() -> None:
    found = facts(records(FORMAT, fixture("nrt_oom/oom-2023-mid-breakdown.log")))
    assert found["runtime.oom_bytes"] == 512 * 1024**2
    assert (found["runtime.oom_usage"], found["runtime.oom_entity"]) == ("tensors", "nd0:nc0")
    assert found["runtime.oom_total"] == int(15.671 * 1024**3)
    assert found["runtime.oom_dma_rings"] == 32 * 1024


def test_table() -> None:
    found = facts(records(FORMAT, fixture("nrt_oom/oom-2024plus-table-trn2-lnc2.log")))
    assert found["runtime.oom_entity"] == "nd3:nc12"
    assert found["runtime.oom_tensors"] == int(17.25 * 1024**3)
    assert found["runtime.oom_scratchpad"] == int(2.5 * 1024**3) + int(2.981 * 1024**3)
    core = facts(records(FORMAT, fixture("nrt_oom/oom-2024plus-table-trn1-lnc1-two-ncs.log")))
    assert core["runtime.oom_total"] == int(15.602 * 1024**3)  # of the failing core, not of the device


def test_bytes_alone_and_pages() -> None:
    assert facts(records(FORMAT, fixture("nrt_oom/bytes-only-2021.log")))["runtime.oom_bytes"] == 1272
    assert facts(records(FORMAT, fixture("nrt_oom/tmpbuf-2022.log")))["runtime.oom_tmpbuf"] == 28


def test_one_failure_is_one_event() -> None:
    found = records(FORMAT, fixture("nrt_oom/oom-2023-mid-breakdown.log"))
    assert len(events(found, "nrt.oom")) == 1


def test_ranks_are_read_one_by_one() -> None:
    found = records(FORMAT, fixture("nrt_oom/scratchpad-two-ranks.log"))
    totals = {event.entity: event.fields["total"] for event in events(found, "nrt.oom")}
    assert totals == {"nd2:nc0": int(15.32 * 1024**3), "nd2:nc1": int(5.1 * 1024**3)}


def test_prefixes_and_windows() -> None:
    for name in ("oom-2023-mid-breakdown.log", "oom-2024plus-table-trn2-lnc2.log"):
        text = fixture(f"nrt_oom/{name}")
        check_prefixes(FORMAT, text)
        check_interleaving(FORMAT, text)
        assert facts(FORMAT.parse(triggered(FORMAT, text))) == facts(records(FORMAT, text))
