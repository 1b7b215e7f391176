"""What the daemon tells as plain data."""

from __future__ import annotations

from neuronwatch.daemon import status
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Origin


def test_a_finding_with_an_action_and_a_secret_in_its_line():
    line = Origin("/var/log/x.log", -3, "export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789")
    item = Finding(
        "a.rule", "a.fault", "cause", "error", 0.5, "title", "cause", evidence=(line,), action={"kind": "drain-host", "safe": False}
    )
    told = status.finding(item)
    assert told["action"] == {"kind": "drain-host", "safe": False}
    assert told["evidence"][0]["line"] is None and "hf_abc" not in told["evidence"][0]["text"]
    assert status.finding(item) == told
