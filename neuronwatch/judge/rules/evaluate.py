"""Evaluates rules against one case: which fire, on which evidence, how sure, and why the others did not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from neuronwatch.judge import entities
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.rules import expr
from neuronwatch.judge.rules.compiled import ENDS, RuleSet
from neuronwatch.judge.rules.expr import UNKNOWN, Unknown
from neuronwatch.judge.rules.functions import JUDGING
from neuronwatch.judge.rules.model import Join, Rule, Signature
from neuronwatch.judge.state import Hits, State
from neuronwatch.model.dataclass import dataclass, field, replace
from neuronwatch.model.records import Fact, Origin, Value
from neuronwatch.parse.api import Line

FURTHER = 0.35
"""A further trigger or clue from another source closes this share of its own confidence of the gap to 1."""
MAX_CONFIDENCE = 0.99
MORE_LINES = 2
MAX_SENTENCES, MAX_SENTENCE = 6, 300
HEADING = "Traceback (most recent call last)"
"""A line that announces and says nothing: shown after everything else."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One signature or join that was true, with its proof."""

    name: str
    confidence: float
    evidence: tuple[Origin, ...]
    line: Line | None = None
    count: int = 1
    further: tuple[Origin, ...] = ()
    """More lines of the same signature: where it stands first in other files, and last in the same one."""
    used: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a rule and what became of it: `state` is true, false or unknown (with the blind facts)."""

    what: str
    state: str
    detail: str = ""


@dataclass
class Outcome:
    """Of one rule. It fired when `triggers` is not empty and nothing blocked it."""

    rule: Rule
    fired: bool = False
    confidence: float = 0.0
    triggers: list[Trigger] = field(default_factory=list)
    evidence: list[Origin] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    blind: set[str] = field(default_factory=set)
    touched: bool = False
    """Whether any of its signatures was seen, so that an unknown decision is worth telling."""
    hinted: bool = True
    """Whether only weak ones were: such lines stand in healthy evidence too."""
    ended: bool = False
    why: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    entities: tuple[str, ...] = ()


MAX_MATCHES = 50
"""Matches of one signature in one line that are tried with its `when`."""


def _first(pattern: str, text: str) -> re.Match[str] | None:
    """The first match, None also for a pattern that takes for ever."""
    return next(iter(JUDGING.matches(pattern, text, 1)), None)


class Case:
    """The facts and hits of one case, ready to be asked by rules. Outcomes are memoised."""

    def __init__(self, rules: RuleSet, state: State, facts: FactsView, explain: bool = False) -> None:
        self.explain = explain
        """Whether every condition is written down (for `rules why-not`); else only what decides."""
        self.rules = rules
        self.facts = facts
        self.hits: dict[tuple[str, str], list[Hits]] = {}
        for file in state.parts():
            for pattern_id, hits in file.hits.items():
                place = rules.places[pattern_id]
                self.hits.setdefault((place.rule, place.signature), []).append(hits)
        self._outcomes: dict[str, Outcome] = {}
        self._running: set[str] = set()
        self._by_fault: dict[str, list[str]] = {}
        for rule in rules.rules.values():
            self._by_fault.setdefault(rule.fault, []).append(rule.id)

    def lines(self, rule: str, signature: str) -> list[Line]:
        return [line for hits in self.hits.get((rule, signature), ()) for line in hits.lines]

    def count(self, rule: str, signature: str) -> int:
        return sum(hits.count for hits in self.hits.get((rule, signature), ()))

    def outcome(self, rule_id: str) -> Outcome:
        """The outcome of one rule, evaluated once."""
        known = self._outcomes.get(rule_id)
        if known is None:
            self._running.add(rule_id)
            known = self._outcomes[rule_id] = _evaluate(self, self.rules.rules[rule_id])
            self._running.discard(rule_id)
        return known

    def alone(self, rule_id: str) -> Outcome:
        """The outcome of one rule evaluated anew, the others as they are known. Raises KeyError."""
        return _evaluate(self, self.rules.rules[rule_id])

    def fired(self, rule_or_fault: str) -> bool | Unknown:
        """Whether a rule, or any rule of a fault, fires. A question in a circle is unknown."""
        ids = [rule_or_fault] if rule_or_fault in self.rules.rules else self._by_fault.get(rule_or_fault, [])
        unknown = False
        for rule_id in ids:
            if rule_id in self._running:
                unknown = True
            elif self.outcome(rule_id).fired:
                return True
        return UNKNOWN if unknown else False

    def all(self) -> list[Outcome]:
        return [self.outcome(rule_id) for rule_id in self.rules.rules]


class RuleScope:
    """What the expressions of one rule see; remembers what they used."""

    def __init__(self, case: Case, rule: Rule, match: re.Match[str] | None = None) -> None:
        self._case = case
        self._rule = rule
        self._match = match
        self.used: list[Fact] = []
        self.lines: list[Line] = []
        self.origins: list[Origin] = []
        self.blind: set[str] = set()

    def fact(self, name: str) -> Value | Unknown:
        found = self._case.facts.first(name)
        if found is None:
            self.blind.add(name)
            return UNKNOWN
        self.used.append(found)
        return found.value

    def fact_values(self, name: str) -> list[Value]:
        found: list[Value] = []
        for fact in self._case.facts.all(name):
            if fact.value is not None and fact.value not in found:
                found.append(fact.value)
                self.used.append(fact)
        return found

    def group(self, name: str) -> str | Unknown:
        try:
            value = self._match.group(name) if self._match else None
        except (IndexError, re.error):
            value = None
        return UNKNOWN if value is None else value

    def hits(self, signature: str) -> int:
        rule, _, name = signature.rpartition(":")
        rule = rule or self._rule.id
        self._use(rule, name)
        return self._case.count(rule, name)

    def _use(self, rule: str, name: str) -> Line | None:
        """The first line of a signature, remembered as evidence with its match marked."""
        lines = self._case.lines(rule, name)
        if not lines:
            return None
        self.lines.append(lines[0])
        pattern = next((item.pattern for item in self._case.rules.rules[rule].signatures if item.name == name), None)
        self.origins.append(_marked(lines[0], _first(pattern, lines[0].text) if pattern else None))
        return lines[0]

    def fired(self, rule_or_fault: str) -> bool | Unknown:
        return self._case.fired(rule_or_fault)

    def before(self, first: str, second: str) -> bool | Unknown:
        lines = []
        for signature in (first, second):
            rule, _, name = signature.rpartition(":")
            found = self._use(rule or self._rule.id, name)
            if found is None:
                return UNKNOWN
            lines.append(found)
        a, b = lines
        if a.path == b.path and a.number is not None and b.number is not None:
            return a.number < b.number
        if a.time is not None and b.time is not None:
            return a.time < b.time
        return UNKNOWN


def _evaluate(case: Case, rule: Rule) -> Outcome:
    out = Outcome(rule)
    for signature in rule.signatures:
        _try_signature(case, rule, signature, out)
    for join in rule.joins:
        _try_join(case, rule, join, out)
    if not out.triggers:
        return out
    if not _gates_open(case, rule, out):
        return out
    out.fired = True
    _weigh(case, rule, out)
    out.ended = _ended(case, rule, out)
    out.entities = entities.in_order(_entities(case, rule, out))
    if rule.tell:
        said = [text for fact in case.facts.all(rule.tell) if isinstance(fact.value, tuple) for text in fact.value]
        out.told = [str(text)[:MAX_SENTENCE] for text in dict.fromkeys(said)][:MAX_SENTENCES]
    return out


def _all_true(case: Case, rule: Rule, sources: Sequence[str], out: Outcome, what: str,
              match: re.Match[str] | None = None) -> RuleScope | None:  # fmt: skip
    """The scope (for its evidence) when all expressions are true; notes the checks either way."""
    scope = RuleScope(case, rule, match)
    for source in sources:
        value = expr.truth(expr.evaluate(source, scope))
        unknown = isinstance(value, Unknown)
        if case.explain:
            blind = ", ".join(sorted(scope.blind)) if unknown else ""
            state = "unknown" if unknown else "true" if value else "false"
            out.checks.append(Check(f"{what}: {source}", state, f"not in the evidence: {blind}" if blind else ""))
        if unknown:
            out.blind |= scope.blind
            return None
        if not value:
            return None
    return scope


def _try_signature(case: Case, rule: Rule, signature: Signature, out: Outcome) -> None:
    label = f"signature {signature.name}"
    if (rule.id, signature.name) not in case.hits:
        if case.explain:
            out.checks.append(Check(label, "false", "not seen"))
        return
    lines = case.lines(rule.id, signature.name)
    if not lines:
        return
    out.touched = True
    out.hinted = out.hinted and signature.weak
    if case.explain:
        out.checks.append(Check(label, "true", f"{lines[0].path}:{lines[0].number}"))
    if signature.weak:
        return
    for line in lines:
        used: list[Origin] = []
        scope: RuleScope | None = None
        match: re.Match[str] | None = None
        if signature.when:
            scope = None
            for match in JUDGING.matches(signature.pattern, line.text, MAX_MATCHES):
                scope = _all_true(case, rule, signature.when, out, label, match)
                if scope is not None:
                    break
            if scope is None:
                continue
            used = _origins(scope)
        confidence = signature.confidence if signature.confidence is not None else rule.confidence
        evidence = (_marked(line, match or _first(signature.pattern, line.text)), *used)
        further = () if signature.when else tuple(_further(case, (rule.id, signature.name), line, signature.pattern))
        count = case.count(rule.id, signature.name)
        facts = tuple(scope.used) if scope is not None else ()
        out.triggers.append(Trigger(signature.name, confidence, evidence, line, count, further, facts))
        return


def _further(case: Case, key: tuple[str, str], line: Line, pattern: str) -> list[Origin]:
    """At most MORE_LINES: the last line of the same file, and the first of other files."""
    found: list[Line] = []
    for hits in case.hits.get(key, ()):
        if hits.lines and hits.lines[0].path != line.path:
            found.append(hits.lines[0])
        elif hits.last is not None and hits.last.number != line.number:
            found.append(hits.last)
    return [_marked(item, _first(pattern, item.text)) for item in found[:MORE_LINES]]


def _missing(case: Case, rule: Rule, join: Join, out: Outcome) -> bool:
    """Whether something that the join needs is absent: a signature (it is false) or a fact (it is unknown)."""
    for need in join.needs:
        if need.startswith("@"):
            owner, _, name = need[1:].rpartition(":")
            if (owner or rule.id, name) not in case.hits:
                return True
    blind = {need for need in join.needs if not need.startswith("@") and case.facts.first(need) is None}
    out.blind |= blind
    return bool(blind)


def _try_join(case: Case, rule: Rule, join: Join, out: Outcome) -> None:
    if not case.explain and _missing(case, rule, join, out):
        return
    scope = _all_true(case, rule, join.when, out, f"join {join.name}")
    if scope is not None:
        confidence = join.confidence if join.confidence is not None else rule.confidence
        line = scope.lines[0] if scope.lines else None
        out.triggers.append(Trigger(join.name, confidence, tuple(_origins(scope)), line, used=tuple(scope.used)))


def _gates_open(case: Case, rule: Rule, out: Outcome) -> bool:
    if rule.require and _all_true(case, rule, rule.require, out, "require") is None:
        out.why.append("a required condition is not shown true")
        return False
    for item in rule.unless:
        scope = RuleScope(case, rule, _first_match(rule, out))
        if all(expr.truth(expr.evaluate(source, scope)) is True for source in item.when):
            out.checks.append(Check(f"unless: {' and '.join(item.when)}", "true", item.why))
            out.why.append(f"not this fault: {item.why}")
            return False
    return True


def _first_match(rule: Rule, out: Outcome) -> re.Match[str] | None:
    """The match of the strongest text trigger, so that `unless` and clues can use its groups."""
    patterns = {item.name: item.pattern for item in rule.signatures}
    for trigger in out.triggers:
        if trigger.line is not None and trigger.name in patterns:
            return _first(patterns[trigger.name], trigger.line.text)
    return None


def _weigh(case: Case, rule: Rule, out: Outcome) -> None:
    """Confidence from independent signals, and the evidence in the order in which it convinces."""
    ordered = sorted(out.triggers, key=lambda item: -item.confidence)
    confidence = ordered[0].confidence
    seen = {origin.path for origin in ordered[0].evidence}
    for trigger in ordered[1:]:
        share = FURTHER if {origin.path for origin in trigger.evidence} - seen else FURTHER / 2
        confidence += (1 - confidence) * share * trigger.confidence
        seen |= {origin.path for origin in trigger.evidence}
    evidence = [origin for trigger in ordered for origin in trigger.evidence]
    for clue in rule.clues:
        scope = RuleScope(case, rule, _first_match(rule, out))
        if all(expr.truth(expr.evaluate(source, scope)) is True for source in clue.when):
            confidence += (1 - confidence) * clue.add if clue.add > 0 else confidence * clue.add
            out.why.append(clue.why or " and ".join(clue.when))
            if clue.add > 0:
                evidence.extend(_origins(scope))
    evidence.extend(origin for trigger in ordered for origin in trigger.further)
    evidence.sort(key=lambda origin: HEADING in origin.text)
    out.triggers = ordered
    out.confidence = round(min(MAX_CONFIDENCE, max(0.01, confidence)), 3)
    out.evidence = _unique(evidence)


def _marked(line: Line, match: re.Match[str] | None) -> Origin:
    """The line's origin with the matched characters marked."""
    origin = line.origin
    return replace(origin, mark=match.span()) if match is not None and match.end() <= len(origin.text) else origin


def _origins(scope: RuleScope) -> list[Origin]:
    return scope.origins + [_with_value(fact) for fact in scope.used]


def _with_value(fact: Fact) -> Origin:
    """The origin of a fact with its value marked, where the line spells it."""
    text = str(fact.value)
    start = fact.origin.text.find(text) if isinstance(fact.value, (str, int, float)) and len(text) > 1 else -1
    return replace(fact.origin, mark=(start, start + len(text))) if start >= 0 and fact.origin.mark is None else fact.origin


def _unique(origins: Iterable[Origin]) -> list[Origin]:
    seen: dict[tuple[str, Any], Origin] = {}
    for origin in origins:
        if origin.path:
            seen.setdefault((origin.path, origin.line if origin.line is not None else origin.text), origin)
    return list(seen.values())


def _entities(case: Case, rule: Rule, out: Outcome) -> Iterator[str]:
    """Ranks of the lines that decided; devices and cores of all lines of a signature, and of the facts that were used."""
    whole = {signature.name for signature in rule.signatures if not signature.when}
    for trigger in out.triggers:
        if trigger.line is not None:
            yield trigger.line.entity
            yield entities.of_line(trigger.line.text)
        if trigger.name in whole:
            yield from (entities.of_line(line.text) for line in case.lines(rule.id, trigger.name))
        yield from entities.of_facts(trigger.used, case.facts)


def end_is_fact(case: Case, rule: Rule) -> bool:
    """Whether a rule that ends by a fact has ended."""
    scope = RuleScope(case, rule)
    return bool(rule.ends.when) and all(expr.truth(expr.evaluate(source, scope)) is True for source in rule.ends.when)


def _ended(case: Case, rule: Rule, out: Outcome) -> bool:
    """Whether a later line of the same source says that the condition is over."""
    if rule.ends.how == "fact":
        return end_is_fact(case, rule)
    if rule.ends.how != "pattern":
        return False
    last: dict[str, int] = {}
    for signature in rule.signatures:
        for hits in case.hits.get((rule.id, signature.name), ()):
            if hits.last is not None and hits.last.number is not None:
                last[hits.last.path] = max(last.get(hits.last.path, 0), hits.last.number)
    ends: dict[str, int] = {}
    for hits in case.hits.get((rule.id, ENDS), ()):
        if hits.last is not None and hits.last.number is not None:
            ends[hits.last.path] = max(ends.get(hits.last.path, 0), hits.last.number)
    return bool(last) and all(ends.get(path, 0) > number for path, number in last.items())
