"""The rules in use and how each stands, as plain data: of the daemon's watch and of a recording's."""

from __future__ import annotations

from typing import Any

from neuronwatch.daemon import status
from neuronwatch.judge import explain
from neuronwatch.judge.live import Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import Outcome
from neuronwatch.source.live.api import Now

NOT_JUDGED = explain.Standing("blind", "nothing has been judged yet")


def rules(watch: Watch, known: RuleSet, now: Now) -> list[dict[str, Any]]:
    stands = watch.standings(now)
    return [
        {
            "id": rule.id, "fault": rule.fault, "title": rule.title, "role": rule.role, "severity": rule.severity,
            "signatures": [item.name for item in rule.signatures], "joins": [item.name for item in rule.joins],
            "ends": rule.ends.how, "path": rule.path, "stage": rule.stage, **_standing(stands.get(rule.id, NOT_JUDGED)),
        }
        for rule in known.rules.values()
    ]  # fmt: skip


def why(watch: Watch, known: RuleSet, name: str, now: Now) -> dict[str, Any] | None:
    """Each condition of a rule with what became of it. None: there is no such rule."""
    rule = known.rules.get(name)
    if rule is None:
        return None
    out = watch.why(name) or Outcome(rule)
    return {
        "rule": name, **_standing(watch.standings(now).get(name, NOT_JUDGED)), "fired": out.fired, "confidence": out.confidence,
        "cause": rule.cause,
        "checks": [{"what": item.what, "state": item.state, "detail": status.hidden(item.detail)} for item in out.checks],
        "notes": [status.hidden(item) for item in out.why],
        "evidence": [{"path": item.path, "line": item.line, "text": status.hidden(item.text)} for item in out.evidence[:8]],
    }  # fmt: skip


def _standing(stand: explain.Standing) -> dict[str, Any]:
    return {"state": stand.state, "reason": status.hidden(stand.reason), "since": stand.since}
