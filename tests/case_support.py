"""Shared by the tests that judge the public cases: the rule set, one diagnosis, and what must stay equal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source import formats, reader, rule_files

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
CASES = FIXTURES / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/case.toml"))


@lru_cache(maxsize=1)
def rules() -> RuleSet:
    return rule_files.load_rule_set([rule_files.bundled("rules")])[0]


def items(path: Path) -> list[Evidence]:
    return list(reader.read_evidence([path], rules().patterns, *formats.shipped()))


def judge(evidence: Iterable[Evidence]) -> Diagnosis:
    return engine.conclude(engine.observe(State(), evidence, rules()), rules())


def diagnose(path: Path) -> Diagnosis:
    return judge(items(path))


def essence(diagnosis: Diagnosis, strip: str = "") -> list[tuple[object, ...]]:
    """(rule, fault, role, entities, first evidence) of every finding, with `strip` taken off the front of paths."""
    return [
        (f.rule, f.fault, f.role, f.entities, f.evidence[0].path.removeprefix(strip) if f.evidence else "",
         f.evidence[0].line if f.evidence else None)
        for f in diagnosis.findings
    ]  # fmt: skip
