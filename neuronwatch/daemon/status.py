"""What the daemon tells, as plain data: `neuronwatch.status/1`, sources, samples, lines, conditions, incidents."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from neuronwatch import __version__
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.live import Condition, Delivery, Health, Incident
from neuronwatch.model.records import MAX_TEXT, Value
from neuronwatch.store.frames import Splitter

if TYPE_CHECKING:
    from neuronwatch.collect.redact import Redactor
    from neuronwatch.daemon.service import Service
    from neuronwatch.daemon.tails import Tails

SCHEMA = "neuronwatch.status/1"
INCIDENTS = "neuronwatch.incidents/1"
MAX_LINES = 200
"""Lines of a text in one event."""


def document(service: Service) -> dict[str, Any]:
    """The status of the host. `verdict` is unknown until there was a first judgement."""
    now, judged = service.loop.clock.now(), service.judged
    switched_off = sorted(name for name, item in service.config.sources.items() if not item.enabled)
    history = service.memory.health()
    return {
        "schema": SCHEMA,
        "verdict": judged.verdict if judged else "unknown",
        "reasons": list(judged.reasons) if judged else ["nothing has been judged yet"],
        "time": now.wall,
        "daemon": {
            "pid": os.getpid(), "version": __version__, "started": service.started.wall, "rules": len(service.rules.rules),
            "reload": service.last_reload,
            "history": {"state": history.state, "reason": history.reason} if history else
                       {"state": "off", "reason": service.memory.reason},
            **{name: kept._asdict() for name, kept in service.keeping.health().items()},
            "directory": {"state": service.guard.state, "reason": service.guard.reason},
        },
        "incidents": [incident(item) for item in judged.incidents if item.state != "resolved"] if judged else [],
        "conditions": [condition(item) for item in judged.conditions if item.state != "false"] if judged else [],
        "sources": [source(item, now.wall) for item in service.runner.health()],
        "unknown": [*(f"source {name} is switched off in the configuration" for name in switched_off),
                    *(judged.diagnosis.unknown if judged else ())],
    }  # fmt: skip


def no_daemon(reason: str, now: float) -> dict[str, Any]:
    """The status where no daemon answers: nothing is known."""
    return {
        "schema": SCHEMA, "verdict": "unknown", "reasons": [reason], "time": now, "daemon": None, "incidents": [],
        "conditions": [], "sources": [], "unknown": [reason],
    }  # fmt: skip


def source(health: Health, now: float) -> dict[str, Any]:
    """`age`: seconds since the last delivery, None: there was none."""
    return {
        "name": health.source, "state": health.state, "reason": reason(health.reason), "since": health.since, "last": health.last,
        "age": None if health.last is None else round(max(0.0, now - health.last), 3), "budget": health.budget,
        "mandatory": health.mandatory,
    }  # fmt: skip


_told: dict[int, tuple[Finding, dict[str, Any]]] = {}
MAX_TOLD = 512


def finding(item: Finding) -> dict[str, Any]:
    """As in the diagnosis (DESIGN 4.2), secrets in lines of evidence hidden: what is told may be pasted anywhere. Made once for
    each finding: hiding secrets takes a millisecond."""
    known = _told.get(id(item))
    if known is not None and known[0] is item:
        return known[1]
    if len(_told) >= MAX_TOLD:
        _told.clear()
    found = _finding(item)
    _told[id(item)] = (item, found)
    return found


def _finding(item: Finding) -> dict[str, Any]:
    hide = _redactor().text
    return {
        "rule": item.rule, "fault": item.fault, "role": item.role, "severity": item.severity, "confidence": item.confidence,
        "title": hide(item.title), "cause": hide(item.cause), "fix": [hide(step) for step in item.fix],
        "confirm": [hide(step) for step in item.confirm],
        "evidence": [{"path": hide(part.path), "line": part.line if part.line is None or part.line > 0 else None,
                      "text": hide(part.text)[:MAX_TEXT]} for part in item.evidence],
        "entities": [hide(name) for name in item.entities],
        "action": None if item.action is None else plain(item.action),
    }  # fmt: skip


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    """Made at the first finding: most hosts have none."""
    from neuronwatch.collect.redact import Redactor

    return Redactor(secrets_only=True)


@lru_cache(maxsize=256)
def hidden(text: str) -> str:
    """A text without secrets. What is known is written down often and changes seldom."""
    return _redactor().text(text)


_SUSPICIOUS = re.compile(r"[=@]|[A-Za-z0-9+_-]{16}|passw|secret|token|bearer|key", re.IGNORECASE)


def reason(text: str) -> str:
    """The words of a source, without secrets: a tool that failed may have cited anything. Most are ours and need no search."""
    return hidden(text) if _SUSPICIOUS.search(text) else text


def _cut(line: str) -> str:
    return line if len(line) <= MAX_TEXT else line[:MAX_TEXT] + " [cut: a long line]"


def hidden_lines(lines: Sequence[str]) -> list[str]:
    """As many lines, without secrets. Together: a key may go over several, and it takes a third of the time. Of a long line the
    beginning, and how much more there was: after hiding, since half a secret is not known as one."""
    if not lines:
        return []
    found = [_cut(line) for line in hidden("\n".join(line[: 2 * MAX_TEXT] for line in lines)).split("\n")]
    return found + [""] * (len(lines) - len(found)) if len(found) <= len(lines) else found[: len(lines)]


def shown_value(name: str, value: Value) -> Any:
    """The value of a fact, secrets hidden."""
    return plain(_redactor().value(name, value))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def condition(item: Condition) -> dict[str, Any]:
    return {
        "key": item.key, "state": item.state, "since": item.since, "reason": item.reason, "ends": item.ends,
        "finding": finding(item.finding),
    }  # fmt: skip


def incident(item: Incident) -> dict[str, Any]:
    """`findings`: the root's first."""
    ordered = sorted(item.conditions, key=lambda part: (part.key != item.root, part.since))
    return {
        "id": item.id, "fault": item.fault, "severity": item.severity, "state": item.state, "opened": item.opened,
        "updated": item.updated, "resolved": item.resolved, "root": item.root,
        "title": next((part.finding.title for part in ordered), ""),
        "findings": [finding(part.finding) for part in ordered],
        "conditions": [{"key": part.key, "state": part.state, "since": part.since, "reason": part.reason, "ends": part.ends}
                       for part in ordered],
        "revisions": [{"time": part.time, "what": part.what} for part in item.revisions],
    }  # fmt: skip


def samples(delivery: Delivery, splitter: Splitter) -> dict[str, Any]:
    """One delivery's readings by metric: entities, values (null: absent) and, where one is absent, reasons."""
    metrics: dict[str, Any] = {}
    for row in splitter.split(delivery.readings):
        values = [None if value != value else value for value in row.values]
        found: dict[str, Any] = {"entities": row.entities, "values": values}
        if row.reasons is not None:
            found["reasons"] = row.reasons
        metrics[row.metric] = found
    return {"source": delivery.source, "time": delivery.time, "metrics": metrics}


def lines(delivery: Delivery, tails: Tails) -> list[dict[str, Any]]:
    """Lines that texts gained, secrets hidden; of a flood the last MAX_LINES, the rest counted in `left_out`. `line`: the number of
    the first one (0: not known), `fresh`: the text began anew, `unfinished`: the last one still waits for its end. `tails` have
    taken the delivery."""
    found: list[dict[str, Any]] = []
    ends: dict[str, int] = {}
    for item in reversed(delivery.appended):
        texts: Sequence[bytes] = item.data.removesuffix(b"\n").split(b"\n") if item.data else ()
        shown = [text.decode("utf-8", "replace") for text in texts[-MAX_LINES:]]
        end = ends.get(item.path, tails.next_line(item.path))
        unfinished = not item.data.endswith(b"\n") and bool(item.data)
        ends[item.path] = 0 if item.fresh or not end else end - item.data.count(b"\n") - item.dropped
        found.append({
            "path": item.path, "time": delivery.time, "lines": hidden_lines(shown), "line": max(0, end - len(shown) + unfinished),
            "left_out": item.dropped + len(texts) - len(shown), "fresh": item.fresh, "unfinished": unfinished,
        })  # fmt: skip
    return found[::-1]
