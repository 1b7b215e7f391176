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
)

from neuronwatch.parse.nccom_log import FORMAT

FOLDER = "nccom_log"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_libnccom() -> None:
    found = events(records(FORMAT, fixture("nccom_log/ccom-2023.log")), "nccom.log")
    assert found[0].fields["message"] == "Call to accept failed : Too many open files"
    assert (found[0].fields["file"], found[0].fields["line"], found[0].entity) == ("bootstrap.cc", 106, "rank23")


def test_nccl() -> None:
    found = records(FORMAT, fixture("nccom_log/nccl-2025.log"))
    assert events(found, "nccom.log")[0].fields["host"] == "queue-trn2-dy-node-1"
    assert facts(found)["host.efa_provider"] is True
    assert facts(records(FORMAT, "x:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp"))["host.efa_provider"] is False


def test_prefixes_and_glue() -> None:
    for name in ("ccom-2023.log", "nccl-2025.log"):
        text = fixture(f"nccom_log/{name}")
        check_prefixes(FORMAT, text)
        check_interleaving(FORMAT, text)
    first, second = fixture("nccom_log/ccom-2023.log").split("\n")[:2]
    assert len(events(records(FORMAT, first + second), "nccom.log")) == 2
