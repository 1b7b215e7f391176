from __future__ import annotations

from hypothesis import given
from parse_support import check_golden, check_never_raises, check_prefixes, damaged, events, facts, fixture, records

from neuronwatch.parse.neuron_rtd import FORMAT

FOLDER = "neuron_rtd"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_journal() -> None:
    found = records(FORMAT, fixture("neuron_rtd/journal-load-and-infer-errors.txt"))
    assert facts(found) == {"rtd.present": True, "rtd.status": "NERR_INFER_BAD_INPUT"}
    event = events(found, "rtd.log")[0]
    assert event.fields["where"] == "NMGR:kmgr_load_nn_internal"
    assert event.entity == "pid32446"


def test_build_line() -> None:
    text = "Nov 10 04:57:11 ip-10-0-1-23 neuron-rtd[1211]: nrtd[1211]: [NRTD:nrtd_main] nrtd build using:1.6.24.0"
    assert facts(records(FORMAT, text)) == {"rtd.present": True, "rtd.version": "1.6.24.0"}


def test_systemctl() -> None:
    assert facts(records(FORMAT, fixture("neuron_rtd/systemctl-status-failed.txt")))["rtd.state"] == "failed"
    text = "neuron-rtd.service - neuron-rtd\n   Active: active (running)"
    assert facts(records(FORMAT, text)) == {"rtd.present": True, "rtd.state": "active"}
    assert records(FORMAT, "docker.service - Docker\n   Active: failed") == []


def test_client() -> None:
    found = records(FORMAT, fixture("neuron_rtd/client-side-1x.txt"))
    assert facts(found)["rtd.status"] == "NERR_INFER_COMPLETED_WITH_ERR"
    assert {event.fields["side"] for event in events(found, "rtd.log")} == {"client"}


def test_prefixes() -> None:
    check_prefixes(FORMAT, fixture("neuron_rtd/client-side-1x.txt"))
