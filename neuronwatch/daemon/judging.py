"""Stand-in for the judge's facade until it lands: observes evidence by path, concludes a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis


class Judging:
    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.state = State()

    def forget(self, path: str) -> None:
        self.state.files.pop(path, None)

    def observe(self, evidence: Iterable[Evidence]) -> None:
        engine.observe(self.state, evidence, self.rules)

    def conclude(self) -> Diagnosis:
        return engine.conclude(self.state, self.rules)
