"""Diagnosis quality: every case under fixtures/cases/ (real public failures and healthy runs) gets its right answer.

Settled cases must be right. For the others (no settled cause in the public thread) a wrong cause is still a failure.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

import pytest

from neuronwatch.judge import engine
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.parse import registry
from neuronwatch.source import reader, rule_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).resolve().parent.parent / "fixtures" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/case.toml"))


@lru_cache(maxsize=1)
def rules():
    return rule_files.load_rule_set([rule_files.bundled("rules")])[0]


def diagnose(path: Path) -> Diagnosis:
    state = State()
    items = reader.read_evidence([path], rules().patterns, registry.line_formats(), registry.file_formats())
    engine.observe(state, items, rules())
    return engine.conclude(state, rules())


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
