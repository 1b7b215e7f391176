"""What makes a rule usable: known names, decidable expressions, safe patterns, samples on both sides."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import Any, Protocol

from neuronwatch.data import taxonomy
from neuronwatch.judge.match import required_literals
from neuronwatch.judge.rules import expr
from neuronwatch.judge.rules.model import Rule
from neuronwatch.model import vocabulary
from neuronwatch.model.diagnosis import SEVERITIES, STAGES

try:
    from re import _parser as sre_parse  # type: ignore[attr-defined]  # private, no stubs
except ImportError:  # Python 3.10
    import sre_parse

ACTIONS = (
    "none", "advise", "config-change", "env-change", "cache-action", "process-action", "host-action", "drain-host",
)  # fmt: skip
KINDS = ("log", "kernel", "listing", "config", "script", "metrics", "unknown")
ENDS = ("exit", "pattern", "fact", "ttl", "manual")
ALL_STAGES = (*STAGES, "symptom", "note", "site")
MIN_LITERAL = 4
MAX_WIDE_REPEATS = 3
MAX_NESTED = 4
"""More turns of a repeat whose body has no fixed width anywhere, and its cost is no longer small."""


class Report(Protocol):
    def __call__(self, message: str, table: str = "", index: int = 0, key: str = "") -> None: ...


def literals_of(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Literals of which one must occur, and whether case is ignored. Raises re.error on a bad pattern."""
    re.compile(pattern)
    found = required_literals(pattern)
    return found if found is not None else ((), False)


def check_rule(rule: Rule, report: Report) -> None:
    """Reports every problem of a rule whose keys and types are already right."""
    _check_words(rule, report)
    for index, signature in enumerate(rule.signatures):
        if not signature.literals or min(map(len, signature.literals)) < MIN_LITERAL:
            message = f"the pattern has no literal of {MIN_LITERAL} characters that must occur"
            report(message, "signature", index, "pattern")
        for message in pattern_problems(signature.pattern):
            report(message, "signature", index, "pattern")
        if signature.weak and signature.when:
            message = "a weak signature is only seen or not, its `when` would be ignored; say it in the pattern or in a join"
            report(message, "signature", index, "when")
        for kind in signature.on:
            if kind not in KINDS:
                report(f'unknown kind "{kind}"; kinds: {", ".join(KINDS)}', "signature", index, "on")
    tables: dict[str, list[tuple[str, ...]]] = {
        "signature": [item.when for item in rule.signatures],
        "join": [item.when for item in rule.joins],
        "clue": [item.when for item in rule.clues],
        "unless": [item.when for item in rule.unless],
    }
    for table, conditions in tables.items():
        for index, sources in enumerate(conditions):
            for source in sources:
                _check_expression(rule, source, report, table, index)
    if rule.ends.pattern:
        for message in pattern_problems(rule.ends.pattern):
            report(message, "ends", 0, "pattern")
    for source in (*rule.require, *rule.ends.when):
        _check_expression(rule, source, report, "", 0)
    labels = [item.name for item in rule.signatures] + [join.name for join in rule.joins]
    for label in sorted(label for label, times in Counter(labels).items() if times > 1):
        report(f'the name "{label}" is used twice')


def _check_words(rule: Rule, report: Report) -> None:
    for key, value, allowed in (
        ("severity", rule.severity, SEVERITIES), ("role", rule.role, ("cause", "symptom", "note")),
        ("stage", rule.stage, ALL_STAGES), ("maturity", rule.maturity, ("draft", "beta", "stable")),
        ("action", rule.action, ACTIONS),
    ):  # fmt: skip
        if value not in allowed:
            near = difflib.get_close_matches(str(value)[:80], allowed, 1)
            report(f'{key} "{value}" is not one of {", ".join(allowed)}' + (f', did you mean "{near[0]}"?' if near else ""),
                   "", 0, key)  # fmt: skip
    if not re.fullmatch(r"[a-z]+(\.[a-z0-9-]+)+", rule.id) or not rule.id.startswith(rule.stage + "."):
        report(f'id must be "{rule.stage}.<kebab-name>"', "", 0, "id")
    if not taxonomy.known(rule.fault):
        near = difflib.get_close_matches(rule.fault[:80], taxonomy.faults(), 1)
        report(f"no fault {rule.fault} in the taxonomy" + (f", did you mean {near[0]}?" if near else "; use site.<name>"),
               "", 0, "fault")  # fmt: skip
    if rule.role == "cause" and not rule.fault:
        report("a cause needs a fault id", "", 0, "fault")
    if not 0 < rule.confidence <= 1:
        report("confidence must be above 0 and at most 1", "", 0, "confidence")
    if rule.role == "cause" and not rule.fix:
        report("a cause needs a fix", "", 0, "id")
    if rule.tell and not vocabulary.known(rule.tell):
        report(f"unknown fact {rule.tell}", "", 0, "tell")
    if not rule.signatures and not rule.joins:
        report("a rule needs a [[signature]] or a [[join]]")
    if all(item.weak for item in rule.signatures) and not rule.joins:
        report("only weak signatures: nothing can fire this rule")
    if rule.ends.how not in ENDS:
        report(f"ends.how must be one of {', '.join(ENDS)}", "ends", 0, "how")
    needed = {"pattern": rule.ends.pattern, "fact": rule.ends.when, "ttl": rule.ends.seconds}
    if rule.ends.how in needed and not needed[rule.ends.how]:
        report(f'ends.how = "{rule.ends.how}" needs its value', "ends", 0, "how")
    if {sample.fires for sample in rule.samples} != {True, False}:
        report('a rule needs a [[sample]] that fires and one with expect = "silent"')


def _check_expression(rule: Rule, source: str, report: Report, table: str, index: int) -> None:
    try:
        facts, texts = expr.names(source)
    except expr.ExpressionError as error:
        report(f"{source!r}: {error}", table, index, "when")
        return
    for name in sorted(facts):
        if not vocabulary.known(name):
            near = difflib.get_close_matches(name[:80], vocabulary.FACTS, 1)
            report(f"unknown fact {name}" + (f", did you mean {near[0]}?" if near else ""), table, index, "when")
    for pattern in expr.patterns(source):
        for message in pattern_problems(pattern):
            report(f"matches(..., {pattern!r}): {message}", table, index, "when")
    own = {signature.name for signature in rule.signatures}
    for function, text in sorted(texts):
        if function in ("seen", "count", "before") and ":" not in text and text not in own:
            report(f'{function}("{text}"): this rule has no such signature', table, index, "when")


def pattern_problems(pattern: str) -> list[str]:
    """Why a pattern is unsafe on hostile text: nested unbounded repeats, or a leading wildcard."""
    try:
        tree = sre_parse.parse(pattern)
    except (re.error, RecursionError, OverflowError, ValueError) as error:  # ValueError: a count of thousands of digits
        return [f"not a regular expression: {error}"]
    problems: list[str] = []
    wide = _walk(tree, False, problems)
    if wide > MAX_WIDE_REPEATS:
        problems.append(f"{wide} unbounded wildcards; bound them, for example .{{0,200}}")
    if re.match(r"(\(\?[a-z]+\))?\^?\.[*+{]", pattern):
        problems.append("starts with a wildcard; leave it out, patterns are searched")
    return problems


def _walk(tree: Any, inside: bool, problems: list[str]) -> int:
    """Counts unbounded repeats of wide classes; reports repeats inside unbounded repeats."""
    wide = 0
    loose = False  # whether the item before was a wildcard of changing length
    for op, arg in tree:
        name = str(op)
        was, loose = loose, name in ("MAX_REPEAT", "MIN_REPEAT") and arg[0] != arg[1] and str(arg[2][0][0]) == "ANY"
        if loose and was:
            problems.append("two wildcards side by side; one is enough")
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = arg
            unbounded = high is sre_parse.MAXREPEAT or high > 1000
            if unbounded and inside:
                problems.append("an unbounded repeat inside an unbounded repeat can take for ever; bound one of them")
            elif high > MAX_NESTED and _only_repeats(body):
                problems.append("a repeat of nothing but repeats can take for ever; put something fixed between them")
            if unbounded and any(str(item[0]) in ("ANY", "IN", "NOT_LITERAL") for item in body):
                wide += str(body[0][0]) == "ANY"
            wide += _walk(body, inside or (unbounded and high != low), problems)
        elif name == "SUBPATTERN":
            wide += _walk(arg[-1], inside, problems)
        elif name == "BRANCH":
            wide += max((_walk(branch, inside, problems) for branch in arg[1]), default=0)
        elif name in ("ASSERT", "ASSERT_NOT"):
            wide += _walk(arg[1], inside, problems)
        elif name == "ATOMIC_GROUP":
            wide += _walk(arg, inside, problems)
    return wide


def _only_repeats(body: Any) -> bool:
    """Whether a text can be cut in many ways into turns of `body`: all of it are repeats of a changing number."""
    for op, arg in body:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            if arg[0] == arg[1]:
                return False
        elif name == "SUBPATTERN":
            if not _only_repeats(arg[-1]):
                return False
        elif name == "BRANCH":
            if not any(_only_repeats(branch) for branch in arg[1]):
                return False
        elif name != "AT":
            return False
    return True
