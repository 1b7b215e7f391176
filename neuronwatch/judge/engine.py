"""One engine, two lives: `observe` folds evidence into a state, `conclude` judges the state. diagnose calls conclude
once, the daemon after each batch; nothing else differs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Union

from neuronwatch.judge import order
from neuronwatch.judge.evidence import Counted, DocumentHit, Evidence, Match, Provisional, Window
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.memo import Step, found_by
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import Case, Outcome
from neuronwatch.judge.series import SeriesView
from neuronwatch.judge.state import MAX_FACTS, FileState, Hits, State
from neuronwatch.model import vocabulary
from neuronwatch.model.diagnosis import Diagnosis, Finding, SourceReport, Verdict
from neuronwatch.model.modules import modules
from neuronwatch.model.records import Event, Fact, Issue, Origin, Record, Sample

SHOWN_UNKNOWN = 12
Told = Union[Record, SourceReport]


def observe(state: State, evidence: Iterable[Evidence], rules: RuleSet) -> State:
    """Folds evidence into the state, in place, and returns it. Never raises on content."""
    for item in evidence:
        if isinstance(item, Match):
            _observe_match(state.file(item.line.path), item, rules)
        elif isinstance(item, Provisional):
            _observe_provisional(state, item, rules)
        elif isinstance(item, Counted):
            state.file(item.path).hits.setdefault(item.pattern_id, Hits()).count += item.hits
        elif isinstance(item, Window):
            if item.lines:
                path = item.lines[0].path
                state.file(path).note_banners(item.lines)
                records = _safely(item.format.name, path, item.format.parse, item.lines)
                _observe_records(state, state.file(path), records)
        elif isinstance(item, DocumentHit):
            path = item.document.path
            _observe_records(state, state.file(path), _safely(item.format.name, path, item.format.parse, item.document))
        elif isinstance(item, Fact):
            state.file(item.origin.path).facts.append(item)
        else:
            state.file(item.path).report = item
    return state


def _observe_provisional(state: State, item: Provisional, rules: RuleSet) -> None:
    known = state.file(item.path).provisional
    if not item.items:
        known.pop(item.name, None)
        return
    part = known[item.name] = FileState()
    for inner in item.items:
        if isinstance(inner, Match):
            _observe_match(part, inner, rules)
        else:
            part.note_banners(inner.lines)
            _observe_records(state, part, _safely(inner.format.name, item.path, inner.format.parse, inner.lines))


def _observe_match(file: FileState, item: Match, rules: RuleSet) -> None:
    place = rules.places[item.pattern_id]
    if place.on and item.kind not in place.on:
        return
    file.hits.setdefault(item.pattern_id, Hits()).add(item.line)
    file.note_banners((item.line,))


def _safely(name: str, path: str, parse: Callable[[Any], Iterable[Told]], source: Any) -> list[Told]:
    """A parser's records; a parser that fails is a defect of ours and becomes an issue, not the end of the diagnosis."""
    records: list[Told] = []
    try:
        records.extend(parse(source))
    except Exception as error:
        records.append(Issue(Origin(path), f"parser {name} failed: {type(error).__name__}: {error}"))
    return records


def _observe_records(state: State, file: FileState, records: Iterable[Told]) -> None:
    for record in records:
        if isinstance(record, Fact):
            _observe_fact(file, record)
        elif isinstance(record, Sample):
            file.series.add(record)
        elif isinstance(record, Event):
            _observe_event(file, record)
        elif isinstance(record, SourceReport):
            state.file(record.path).told = record
        else:
            file.issues.append(record.message)


def _observe_fact(file: FileState, fact: Fact) -> None:
    if len(file.facts) < MAX_FACTS:
        file.facts.append(fact)
    elif not any(issue.startswith(TOO_MANY) for issue in file.issues):
        file.issues.append(f"{TOO_MANY} {MAX_FACTS:,} facts; the further ones are left out")


TOO_MANY = "more than"


def _observe_event(file: FileState, event: Event) -> None:
    if event.kind == "command":
        from neuronwatch.dialect import facts_of_command

        for fact in facts_of_command(event):
            _observe_fact(file, fact)


@lru_cache(maxsize=2)
def _steps(package: str, function: str) -> tuple[Step, ...]:
    """The functions of all modules of a package, in the order of their names."""
    module = importlib.import_module(package)
    found = []
    for name in modules(module):
        step = getattr(importlib.import_module(f"{package}.{name}"), function, None)
        if step is not None:
            found.append(step)
    return tuple(found)


OURS = "(neuronwatch)"
"""The source under which defects of ours are reported."""


def gather(state: State) -> tuple[FactsView, SeriesView]:
    """All facts and series of a state in canonical order, with what derivations and detectors add."""
    facts, series = FactsView(), SeriesView()
    for file in state.parts():
        for fact in file.readings():
            facts.add(fact)
        series.include(file.series, file.last_run())
    derive, detect = _steps("neuronwatch.judge.derive", "derive"), _steps("neuronwatch.judge.detectors", "detect")
    for place in range(2):  # a derivation may need the fact of another one
        for step in derive:
            _add_new(facts, _found(state, step, place, facts))
    for step in detect:
        _add_new(facts, _found(state, step, 0, facts, series))
    return facts, series


def _found(state: State, step: Step, place: int, facts: FactsView, series: SeriesView | None = None) -> list[Fact]:
    """What a derivation or detector finds; one that fails is a defect of ours and is said in the sources, as with parsers."""
    try:
        return found_by(step, state.memos, place, facts, series)
    except Exception as error:
        name = step.__module__.rpartition(".")[2]
        state.file(OURS).report = SourceReport(OURS, "rule", "partial", f"{name} failed: {type(error).__name__}: {error}")
        return []


def _add_new(facts: FactsView, found: Iterable[Fact]) -> None:
    for fact in found:
        if not any(old.value == fact.value and old.origin == fact.origin for old in facts.all(fact.name)):
            facts.add(fact)


def case_of(state: State, rules: RuleSet, explain: bool = False) -> Case:
    """The case as rules see it; `explain` writes every condition down (for `rules why-not`)."""
    return Case(rules, state, gather(state)[0], explain)


class Judgement(NamedTuple):
    """A diagnosis with what it came from: `outcomes` by rule, and for a finding that follows from another one the rule of
    that one (`follows`)."""

    diagnosis: Diagnosis
    case: Case
    outcomes: dict[str, Outcome]
    follows: dict[str, str]


def conclude(state: State, rules: RuleSet) -> Diagnosis:
    """Judges a state: findings in the order of cause, facts, sources, and what could not be judged."""
    return judge(state, rules).diagnosis


def judge(state: State, rules: RuleSet) -> Judgement:
    """The same with what it came from, for the watch."""
    case = case_of(state, rules)
    outcomes = case.all()
    failed = run_failed(case, outcomes)
    follows: dict[str, str] = {}
    findings = order.rank(outcomes, failed, follows)
    diagnosis = Diagnosis(
        verdict=verdict_of(findings, failed, state),
        findings=tuple(findings),
        facts={name: case.facts.get(name) for name in sorted(case.facts.names())},
        sources=tuple(_reports(state)),
        unknown=(*[f"{item.path}: {item.reason}" for item in (*blind_spots(state), *_not_bundled(state))][:SHOWN_UNKNOWN],
                 *_unknown(outcomes, findings, failed)),
    )  # fmt: skip
    return Judgement(diagnosis, case, {out.rule.id: out for out in outcomes}, follows)


def run_failed(case: Case, outcomes: Iterable[Outcome]) -> bool:
    """Whether the evidence shows a failure: a symptom, or an exit status other than 0."""
    codes = [fact.value for fact in case.facts.all("process.exit_code")]
    if any(isinstance(code, int) and code != 0 for code in codes):
        return True
    return any(out.fired and not out.ended and out.rule.role == "symptom" for out in outcomes)


def verdict_of(findings: list[Finding], failed: bool, state: State) -> Verdict:
    causes = [finding for finding in findings if finding.role == "cause"]
    if any(finding.severity in ("error", "critical") for finding in causes):
        return "fault"
    if not read_anything(state) or blind_spots(state):
        return "unknown"  # before a warning, as in `status`: what is not seen may be worse
    if causes:
        return "warning"
    return "unknown" if failed else "healthy"


MANDATORY = ("devices",)
"""Formats of sources without which a live host cannot be called healthy."""


ALSO_TOLD = "neuron-ls"
TREE = "sysfs"
SEEN = ("read", "partial", "fresh")
INCOMPLETE = "bundle"
"""Format under which a bundle's manifest tells what a cap of the bundle took away."""


def blind_spots(state: State) -> list[SourceReport]:
    """Sources that had to be read and could not be: blind is never green."""
    found = []
    reports = [(file, item) for _, file in state.in_order() if (item := file.source()) is not None]
    tree = any(item.format == TREE and item.state in SEEN for _, item in reports)
    for file, item in reports:
        taken_away = file.told is not None and file.told.format == INCOMPLETE
        if item.format == ALSO_TOLD and item.state == "failed" and tree:
            continue  # the driver's tree says the same; that the tool fails is a warning
        if item.state == "failed" or taken_away or (item.state == "missing" and item.format in MANDATORY):
            found.append(item)
    return found


def _not_bundled(state: State) -> list[SourceReport]:
    """Binary files that are named in a bundle only: no blind spots, diagnose does not read them on the original either."""
    return [file.told for _, file in state.in_order() if file.told is not None and file.told.format == "binary"]


HOLD_NOTHING = ("tar", "zip", "neuronwatch-bundle", "empty")
"""Formats that are no evidence in themselves: who has read nothing else has read nothing, and knows nothing."""


def read_anything(state: State) -> bool:
    """Whether there was any evidence at all."""
    reports = [report for file in state.files.values() if (report := file.source()) is not None]
    if not reports:
        return bool(state.files)
    return any(report.state in SEEN and report.format not in HOLD_NOTHING for report in reports)


def _reports(state: State) -> list[SourceReport]:
    found = []
    for path, file in state.in_order():
        report = file.source() or SourceReport(path, "unknown", "read")
        if file.issues:
            more = f" (and {len(file.issues) - 1} more)" if len(file.issues) > 1 else ""
            reason = "; ".join(part for part in (report.reason, file.issues[0] + more) if part)
            report = SourceReport(report.path, report.format, report.state, reason)
        found.append(report)
    return found


def _unknown(outcomes: Iterable[Outcome], findings: list[Finding], failed: bool) -> list[str]:
    """What could not be judged, and which evidence would settle it. Notes accuse nobody, and without a failure weak lines
    are no reason to ask."""
    said: list[str] = []
    answered = {finding.fault for finding in findings}
    for out in outcomes:
        if out.fired or not out.touched or not out.blind or out.rule.fault in answered:
            continue
        if out.rule.role == "note" or (out.hinted and not failed):
            continue
        needs = "; ".join(f"{name} ({vocabulary.meaning(name)})" for name in sorted(out.blind)[:3])
        said.append(f"{out.rule.title}: its lines were seen, not decided without {needs}")
    if failed and not any(finding.role == "cause" for finding in findings):
        said.insert(0, "The evidence shows a failure, but not its cause: earlier or complete logs of the first rank that "
                       "failed, the kernel log (dmesg -T) and `pip list` of that host would settle most cases")  # fmt: skip
    return said[:SHOWN_UNKNOWN]
