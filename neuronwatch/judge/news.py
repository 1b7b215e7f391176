"""Which of what a followed text tells may decide something, and is judged at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neuronwatch.judge.rules.compiled import ENDS, RuleSet
from neuronwatch.judge.state import MAX_HITS, FileState
from neuronwatch.model.records import Value

FIRST = 3
"""Hits of a weak signature that are news: it accuses nobody alone, and what joins it to others asks whether it was seen."""


class News:
    """Remembers of each text the last value of each fact, and how often it changed."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, tuple[Value, int]]] = {}
        self._rules: RuleSet | None = None
        self._first: list[int] = []
        """Of each pattern how many hits are news; 0: it tells that a condition is over."""

    def of(
        self, path: str, file: FileState, known: Mapping[int, int], facts: int, rules: RuleSet, stands: Callable[[str], bool]
    ) -> bool:
        """Whether a text gained a signature or one of its first hits, or another value. `known`, `facts`: its hits by pattern and
        the number of its facts before; `stands`: whether there is anything of a rule that could be over."""
        if rules is not self._rules:
            self._rules, self._first = rules, _first_of(rules)
        news = False
        for number, count in file.counts().items():
            before = known.get(number, 0)
            if count > before:
                first = self._first[number]
                news = news or (before < first if first else before < MAX_HITS and stands(rules.places[number].rule))
        values = self._told.setdefault(path, {})
        parts = [fact for part in file.provisional.values() for fact in part.facts]
        for fact in (*file.facts[facts:], *parts):
            value, changed = values.get(fact.name, (None, 0))
            if changed == 0 or value != fact.value:
                news = news or changed < MAX_HITS
                values[fact.name] = (fact.value, changed + 1)
        return news

    def forget(self, path: str) -> None:
        self._told.pop(path, None)


def _first_of(rules: RuleSet) -> list[int]:
    weak = {(rule.id, item.name) for rule in rules.rules.values() for item in rule.signatures if item.weak}
    return [
        0 if place.signature == ENDS else FIRST if (place.rule, place.signature) in weak else MAX_HITS for place in rules.places
    ]
