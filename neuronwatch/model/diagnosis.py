"""The result of judging: evidence, findings, sources, the diagnosis (schema neuronwatch.diagnosis/1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Origin, Value

Role = Literal["cause", "symptom", "note"]
Severity = Literal["info", "warning", "error", "critical"]
Verdict = Literal["fault", "warning", "healthy", "unknown"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error", "critical")
STAGES = ("env", "data", "compile", "runtime", "train", "serve", "hw", "cluster")
SCHEMA = "neuronwatch.diagnosis/1"


@dataclass(frozen=True, slots=True)
class Finding:
    """A judgement. `fault` is a taxonomy id, or "" for a symptom or note without a cause of its own."""

    rule: str
    fault: str
    role: Role
    severity: Severity
    confidence: float
    title: str
    cause: str
    fix: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    evidence: tuple[Origin, ...] = ()
    entities: tuple[str, ...] = ()
    action: Mapping[str, Value] | None = None
    why: tuple[str, ...] = ()
    """Why it has this role and confidence, in sentences (terminal `-v` only)."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source: `state` is read, partial, skipped, missing or failed, with the `reason`."""

    path: str
    format: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)
    sources: tuple[SourceReport, ...] = ()
    unknown: tuple[str, ...] = ()
