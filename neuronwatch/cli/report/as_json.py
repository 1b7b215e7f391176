"""The diagnosis as JSON, schema neuronwatch.diagnosis/1."""

from __future__ import annotations

import json
import math
from typing import Any

from neuronwatch.model.diagnosis import SCHEMA, Diagnosis, Finding
from neuronwatch.model.records import MAX_TEXT


def render(diagnosis: Diagnosis) -> str:
    """One JSON document with a final newline; NaN and infinity become texts, so that any parser reads it."""
    return json.dumps(document(diagnosis), ensure_ascii=True, allow_nan=False) + "\n"


def document(diagnosis: Diagnosis) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "schema": SCHEMA,
        "verdict": diagnosis.verdict,
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "facts": _plain(diagnosis.facts),
        "sources": [
            {"path": item.path, "format": item.format, "state": item.state, "reason": item.reason} for item in diagnosis.sources
        ],
        "unknown": list(diagnosis.unknown),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "fault": finding.fault,
        "role": finding.role,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "title": finding.title,
        "cause": finding.cause,
        "fix": list(finding.fix),
        "confirm": list(finding.confirm),
        "evidence": [{"path": item.path, "line": item.line, "text": item.text[:MAX_TEXT]} for item in finding.evidence],
        "entities": list(finding.entities),
        "action": _plain(finding.action),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
