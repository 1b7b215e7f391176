"""Findings, conditions and incidents as plain data (JSON) and back, for the journal, the API and a restart.

What comes back is checked: a damaged record raises ValueError and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from neuronwatch.model.diagnosis import Finding, Role, Severity
from neuronwatch.model.live import Condition, ConditionState, Incident, IncidentState, Revision
from neuronwatch.model.records import Origin, Value

Plain = dict[str, Any]


def of_value(value: Value) -> Any:
    if isinstance(value, tuple):
        return [of_value(item) for item in value]
    if isinstance(value, Mapping):
        return {key: of_value(item) for key, item in value.items()}
    return value


def to_value(value: Any) -> Value:
    if isinstance(value, list):
        return tuple(to_value(item) for item in value)
    if isinstance(value, dict):
        return {str(key): to_value(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int, float, bool)):
        return cast(Value, value)
    raise ValueError(f"no value: {type(value).__name__}")


def of_origin(origin: Origin) -> Plain:
    found: Plain = {"path": origin.path, "line": origin.line, "text": origin.text}
    return found if origin.mark is None else found | {"mark": list(origin.mark)}


def to_origin(plain: Any) -> Origin:
    line, mark = _get(plain, "line"), plain.get("mark")
    if line is not None and not isinstance(line, int):
        raise ValueError("line")
    span = (int(mark[0]), int(mark[1])) if isinstance(mark, list) and len(mark) == 2 else None
    return Origin(_text(plain, "path"), line, _text(plain, "text"), span)


def of_finding(finding: Finding) -> Plain:
    return {
        "rule": finding.rule, "fault": finding.fault, "role": finding.role, "severity": finding.severity,
        "confidence": finding.confidence, "title": finding.title, "cause": finding.cause, "fix": list(finding.fix),
        "confirm": list(finding.confirm), "evidence": [of_origin(origin) for origin in finding.evidence],
        "entities": list(finding.entities), "action": None if finding.action is None else of_value(finding.action),
        "why": list(finding.why),
    }  # fmt: skip


def to_finding(plain: Any) -> Finding:
    evidence, action = _get(plain, "evidence"), _get(plain, "action")
    if not isinstance(evidence, list) or not (action is None or isinstance(action, dict)):
        raise ValueError("finding")
    return Finding(
        rule=_text(plain, "rule"), fault=_text(plain, "fault"), role=cast(Role, _one_of(plain, "role", get_args(Role))),
        severity=cast(Severity, _one_of(plain, "severity", get_args(Severity))), confidence=number(plain, "confidence"),
        title=_text(plain, "title"), cause=_text(plain, "cause"), fix=texts(plain, "fix"), confirm=texts(plain, "confirm"),
        evidence=tuple(to_origin(item) for item in evidence), entities=texts(plain, "entities"),
        action=None if action is None else cast("Mapping[str, Value]", to_value(action)), why=texts(plain, "why"),
    )  # fmt: skip


def of_condition(condition: Condition) -> Plain:
    return {
        "key": condition.key, "state": condition.state, "since": condition.since, "finding": of_finding(condition.finding),
        "reason": condition.reason, "ends": condition.ends,
    }  # fmt: skip


def to_condition(plain: Any) -> Condition:
    state = cast(ConditionState, _one_of(plain, "state", get_args(ConditionState)))
    finding = to_finding(_get(plain, "finding"))
    return Condition(_text(plain, "key"), state, number(plain, "since"), finding, _text(plain, "reason"), _text(plain, "ends"))


def of_incident(incident: Incident) -> Plain:
    return {
        "id": incident.id, "fault": incident.fault, "severity": incident.severity, "state": incident.state,
        "opened": incident.opened, "root": incident.root, "conditions": [of_condition(item) for item in incident.conditions],
        "updated": incident.updated, "resolved": incident.resolved,
        "revisions": [{"time": item.time, "what": item.what} for item in incident.revisions],
    }  # fmt: skip


def to_incident(plain: Any) -> Incident:
    conditions, revisions = _get(plain, "conditions"), _get(plain, "revisions")
    if not isinstance(conditions, list) or not isinstance(revisions, list):
        raise ValueError("incident")
    return Incident(
        id=_text(plain, "id"), fault=_text(plain, "fault"),
        severity=cast(Severity, _one_of(plain, "severity", get_args(Severity))),
        state=cast(IncidentState, _one_of(plain, "state", get_args(IncidentState))), opened=number(plain, "opened"),
        root=_text(plain, "root"), conditions=tuple(map(to_condition, conditions)), updated=number(plain, "updated"),
        resolved=None if _get(plain, "resolved") is None else number(plain, "resolved"),
        revisions=tuple(Revision(number(item, "time"), _text(item, "what")) for item in revisions),
    )  # fmt: skip


def _get(plain: Any, key: str) -> Any:
    if not isinstance(plain, dict) or key not in plain:
        raise ValueError(key)
    return plain[key]


def _text(plain: Any, key: str) -> str:
    value = _get(plain, key)
    if not isinstance(value, str):
        raise ValueError(key)
    return value


def _one_of(plain: Any, key: str, allowed: tuple[str, ...]) -> str:
    value = _text(plain, key)
    if value not in allowed:
        raise ValueError(key)
    return value


def number(plain: Any, key: str) -> float:
    """The number under `key`. Raises ValueError."""
    value = _get(plain, key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(key)
    return float(value)


def texts(plain: Any, key: str) -> tuple[str, ...]:
    """The list of texts under `key`. Raises ValueError."""
    value = _get(plain, key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(key)
    return tuple(value)
