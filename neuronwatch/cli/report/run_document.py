"""The report of a job as a document of the schema neuronwatch.run/1."""

from __future__ import annotations

import math
from typing import Any

from neuronwatch.cli.report import as_json
from neuronwatch.cli.report.hidden import without_secrets
from neuronwatch.collect.redact import Redactor
from neuronwatch.model.job import Change
from neuronwatch.supervise.autopsy import command_line
from neuronwatch.supervise.story import Story

SCHEMA = "neuronwatch.run/1"


def document(story: Story) -> dict[str, Any]:
    """Plain data, secrets hidden. `exit` is what a shell sees; null is not known."""
    text = Redactor(secrets_only=True).text
    judged = None if story.diagnosis is None else as_json.document(without_secrets(story.diagnosis))
    return {
        "schema": SCHEMA, "job": story.job, "status": story.status, "exit": story.exit.code, "signal": story.exit.signal,
        "reason": text(story.exit.reason), "policy": story.mode, "command": text(command_line(story.asked).strip()),
        "began": story.began, "ended": story.exit.time or None, "seconds": story.seconds, "restarts": max(0, len(story.runs) - 1),
        "runs": [{"number": item.number, "began": item.began, "ended": item.ended, "why": text(item.why),
                  "exit": item.exit.code if item.exit is not None and item.exit.known else None} for item in story.runs],
        "remedies": [{"fault": item.fault, "action": item.action, "diff": [_change(change, text) for change in item.changes],
                      "t_fault": item.t_fault, "t_detected": item.t_detected, "t_verified": item.t_verified,
                      "result": item.result, "why": text(item.why)} for item in story.remedies],
        "lost": {"between": story.between, "failed_runs": story.failed_seconds},
        "verdict": judged["verdict"] if judged else None, "findings": judged["findings"] if judged else [],
        "unknown": judged["unknown"] if judged else [],
        "curves": {name: [[_real(step), _real(value)] for step, value in points] for name, points in story.curves.items()},
        "tokens_per_s": story.tokens_per_s,
        "cost": {"price_per_hour": story.asked.price_per_hour, "total": story.cost,
                 "per_million_tokens": story.cost_per_million_tokens},
        "suggested": [_change(change, text) for change in story.for_good],
    }  # fmt: skip


def _change(change: Change, text: Any) -> dict[str, Any]:
    values = (text(str(value)) if isinstance(value, str) else value for value in (change.old, change.new))
    old, new = values
    return {"where": change.where, "name": change.name, "old": old, "new": new, "words": text(change.words)}


def _real(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
