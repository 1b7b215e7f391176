"""The order of cause: which of the rules that fired is the root, which are its symptoms, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from neuronwatch.judge.rules.evaluate import Outcome
from neuronwatch.model.diagnosis import Finding, Role
from neuronwatch.model.records import Value
from neuronwatch.parse.api import Line

SHOWN_EVIDENCE = 8
NOTE_BELOW = 0.35
STRONG, MEDIUM = 0.75, 0.5


def rank(outcomes: Iterable[Outcome], run_failed: bool, follows: dict[str, str] | None = None) -> list[Finding]:
    """Findings, best answer first: causes in order, then symptoms, then notes.

    `run_failed` is whether the evidence shows that the run failed: a condition that is over is then still a cause.
    `follows` is filled with the rules that yield, and to which rule.
    """
    fired = [out for out in outcomes if out.fired]
    roles = {out.rule.id: _role(out, run_failed) for out in fired}
    _yield(fired, roles, {} if follows is None else follows)
    order: dict[Role, int] = {"cause": 0, "symptom": 1, "note": 2}
    fired.sort(key=lambda out: (-out.confidence, _place(out), out.rule.id))
    fired.sort(key=cmp_to_key(_compare))
    fired.sort(key=lambda out: order[roles[out.rule.id]])
    return [_finding(out, roles[out.rule.id]) for out in fired]


def _role(out: Outcome, run_failed: bool) -> Role:
    if out.rule.role != "cause":
        return out.rule.role
    if out.confidence < NOTE_BELOW:
        out.why.append(f"confidence below {NOTE_BELOW}: only a note")
        return "note"
    if out.ended and not run_failed:
        out.why.append("the evidence shows that it ended")
        return "note"
    return "cause"


def _yield(fired: list[Outcome], roles: dict[str, Role], follows: dict[str, str]) -> None:
    """Makes a finding a symptom where a rule that it yields to is a cause; a circle keeps the surer one."""
    for out in sorted(fired, key=lambda item: (item.confidence, item.rule.id)):
        if roles[out.rule.id] != "cause":
            continue
        for other in fired:
            if other is out or roles[other.rule.id] != "cause" or not _names(out.rule.yields_to, other):
                continue
            if other.rule.fault == out.rule.fault:
                continue
            roles[out.rule.id] = "symptom"
            follows[out.rule.id] = other.rule.id
            out.why.append(f"follows from {other.rule.id}")
            break


def _names(yields_to: tuple[str, ...], other: Outcome) -> bool:
    rule = other.rule
    return any(name in (rule.id, rule.fault) or (name.endswith(".*") and rule.fault.startswith(name[:-1])) for name in yields_to)


def _band(confidence: float) -> int:
    return 2 if confidence >= STRONG else 1 if confidence >= MEDIUM else 0


def _first_line(out: Outcome) -> Line | None:
    lines = [trigger.line for trigger in out.triggers if trigger.line is not None]
    return min(lines, key=lambda line: (line.path, line.number or 0), default=None)


def _place(out: Outcome) -> tuple[str, int]:
    line = _first_line(out)
    return (line.path, line.number or 0) if line is not None else ("~", 0)


def _compare(a: Outcome, b: Outcome) -> int:
    """Confidence band, then earliest evidence (same file, or both dated), else as sorted before (stable)."""
    if _band(a.confidence) != _band(b.confidence):
        return _band(b.confidence) - _band(a.confidence)
    left, right = _first_line(a), _first_line(b)
    if left is None or right is None:
        return 0
    if left.path == right.path and left.number is not None and right.number is not None:
        return (left.number > right.number) - (left.number < right.number)
    if left.time is not None and right.time is not None:
        return (left.time > right.time) - (left.time < right.time)
    return 0


def _cause(out: Outcome) -> str:
    return f"{out.rule.cause} Here: {'; '.join(out.told)}." if out.told else out.rule.cause


def _finding(out: Outcome, role: Role) -> Finding:
    rule = out.rule
    action: dict[str, Value] | None = None
    if role == "cause" and rule.action not in ("none", "advise"):
        action = {"kind": rule.action, "safe": False}
    return Finding(
        rule=rule.id, fault=rule.fault, role=role, severity=rule.severity, confidence=out.confidence,
        title=rule.title, cause=_cause(out), fix=rule.fix, confirm=rule.confirm,
        evidence=tuple(out.evidence[:SHOWN_EVIDENCE]), entities=out.entities, action=action,
        why=tuple(out.why),
    )  # fmt: skip
