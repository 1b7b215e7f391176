"""Live and offline judge the same: after the end of the data the watch's diagnosis is that of `diagnose`, for any interleaving
of files, any pieces, and judgements in between. All cases with several seeds run in tests/torture."""

from __future__ import annotations

import pytest
from case_support import CASES, NAMES, diagnose, essence
from live_case_support import live


@pytest.mark.parametrize("name", NAMES[::6])
def test_live_equals_offline(name):
    directory = CASES / name / "evidence"
    expected, (found, _) = diagnose(directory), live(directory, 1)
    assert essence(found.diagnosis) == essence(expected)
    assert found.diagnosis.verdict == expected.verdict
    causes = {finding.rule for finding in expected.findings if finding.role == "cause"}
    told = {item.key for item in found.conditions if item.state == "true" and item.finding.role == "cause"}
    assert causes == told, "every cause is a condition that lasts"
    roots = {condition.key for incident in found.incidents for condition in incident.conditions if condition.state == "true"}
    assert causes <= roots
