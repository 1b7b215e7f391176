"""What the audit log tells of a decision and what came of it, as plain data. Secrets in what a job said or was given are hidden."""

from __future__ import annotations

from typing import Any

from neuronwatch.collect.redact import Redactor
from neuronwatch.dialect import rewrite
from neuronwatch.model.job import Change, JobSpec
from neuronwatch.model.plain import of_value
from neuronwatch.remedy.api import Case
from neuronwatch.remedy.decide import Decision
from neuronwatch.remedy.verify import Verified

MOST_EVIDENCE = 3


def of_decision(case: Case, decision: Decision, t_fault: float | None = None) -> dict[str, Any]:
    """Kind `decision`."""
    redactor = Redactor(secrets_only=True)
    finding = next((item for item in case.findings if item.fault == decision.fault and decision.fault), None)
    told: dict[str, Any] = {
        "id": decision.id, "run": case.run, "decision": decision.kind, "fault": decision.fault, "action": decision.action,
        "why": redactor.text(decision.why), "shadow": decision.shadow,
    }  # fmt: skip
    if t_fault is not None:
        told["t_fault"] = t_fault
    if finding is not None:
        told |= {"rule": finding.rule, "confidence": finding.confidence}
        told["evidence"] = [
            {"path": item.path, "line": item.line, "text": redactor.text(item.text)} for item in finding.evidence[:MOST_EVIDENCE]
        ]
    if decision.proposal is not None:
        told |= {"words": redactor.text(decision.proposal.words), "diff": diff(decision.proposal.changes)}
    return told


def diff(changes: tuple[Change, ...]) -> list[dict[str, Any]]:
    """The changes of a spec."""
    redactor = Redactor(secrets_only=True)
    return [
        {
            "where": change.where, "name": change.name, "old": redactor.value(change.name, of_value(change.old)),
            "new": redactor.value(change.name, of_value(change.new)), "words": change.words,
        }
        for change in changes
    ]  # fmt: skip


def of_command(before: JobSpec, after: JobSpec) -> dict[str, Any]:
    """Kind `person`: another command was given under the name of the job."""
    return {"did": "spec", "diff": diff(rewrite.compared(before, after))}


def of_verified(case: Case, verified: Verified, action: str, fault: str, id: str) -> dict[str, Any]:
    """Kind `verified`. `seconds`: from the first evidence to the recovery."""
    told: dict[str, Any] = {
        "id": id,
        "run": case.run,
        "fault": fault,
        "action": action,
        "verdict": verified.verdict,
        "why": verified.why,
    }
    return told if verified.seconds is None else {**told, "seconds": round(verified.seconds, 3)}
