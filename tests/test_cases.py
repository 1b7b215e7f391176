"""Diagnosis quality: every case under fixtures/cases/ (real public failures and healthy runs) gets its right answer.

Settled cases must be right. For the others (no settled cause in the public thread) a wrong cause is still a failure.
"""

from __future__ import annotations

import sys

import pytest
from case_support import CASES, NAMES, diagnose

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("name", NAMES)
def test_case(name):
    case = tomllib.loads((CASES / name / "case.toml").read_text(encoding="utf-8"))
    diagnosis = diagnose(CASES / name / "evidence")
    causes = [finding for finding in diagnosis.findings if finding.role == "cause"]
    answer = causes[0].fault if causes else ""
    good = {case["fault"], *case["accept"]} - {""}
    assert answer not in case["never"], f"misled: {causes[0].rule}"
    if case["answer"] == "healthy":
        assert diagnosis.verdict == "healthy", diagnosis.findings
    elif case["answer"] == "fault" and case["settled"]:
        assert answer in good
    else:
        assert answer in good | {""}


def test_there_are_cases():
    assert len(NAMES) > 100
