"""The compiled rule set: rules in a fixed order and the numbered patterns that the one scan searches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.judge.match import Pattern
from neuronwatch.judge.rules.model import Rule

ENDS = "@ends"
"""Name of the hidden signature that says that a condition is over."""


class Place(NamedTuple):
    """Where a pattern belongs: a rule's id, a signature's name, and the kinds of source it may stand in."""

    rule: str
    signature: str
    on: tuple[str, ...]


class RuleSet:
    """All rules by id, and `patterns` with `places[pattern.id]`. Raises ValueError on a duplicate id."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: dict[str, Rule] = {}
        self.patterns: list[Pattern] = []
        self.places: list[Place] = []
        for rule in sorted(rules, key=lambda item: item.id):
            if rule.id in self.rules:
                raise ValueError(f"{rule.path}: rule id {rule.id} is already in {self.rules[rule.id].path}")
            self.rules[rule.id] = rule
            for item in rule.signatures:
                self._add(rule.id, item.name, item.on, item.pattern, item.literals, item.ignore_case)
            if rule.ends.pattern:
                self._add(rule.id, ENDS, (), rule.ends.pattern, rule.ends.literals, rule.ends.ignore_case)

    def _add(self, rule: str, name: str, on: tuple[str, ...], regex: str, literals: tuple[str, ...], ignore_case: bool) -> None:
        self.patterns.append(Pattern(len(self.patterns), regex, literals, ignore_case))
        self.places.append(Place(rule, name, on))
