"""`neuronwatch schema [NAME]`: the JSON schemas of what is printed and read, generated from the words they are made of."""

from __future__ import annotations

import argparse
import json
from typing import Any, get_args

from neuronwatch.model.diagnosis import SCHEMA, Role, Severity, Verdict
from neuronwatch.model.job import Mode
from neuronwatch.model.live import ConditionState, IncidentState, SourceState
from neuronwatch.tui.view.devices import CoreState
from neuronwatch.tui.view.summary import HOST, OF_JOBS
from neuronwatch.tui.view.values import Trust

FILE = "docs/schemas/neuronwatch.diagnosis-1.json"
FILES = {
    "diagnosis": FILE,
    "status": "docs/schemas/neuronwatch.status-1.json",
    "incidents": "docs/schemas/neuronwatch.incidents-1.json",
    "run": "docs/schemas/neuronwatch.run-1.json",
    "api": "docs/schemas/neuronwatch.api-1.json",
    "config": "docs/schemas/neuronwatch.config-1.json",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=tuple(FILES), default="diagnosis", help="which schema (default: diagnosis)")


def run(args: argparse.Namespace) -> int:
    print(text(args.name), end="")
    return 0


def text(name: str = "diagnosis") -> str:
    """A schema as it is shipped in docs/schemas/."""
    if name == "config":
        from neuronwatch.daemon import config_print

        return json.dumps(config_print.schema(), indent=2) + "\n"
    made = {"diagnosis": diagnosis, "status": status, "incidents": incidents, "run": job_report, "api": api}[name]()
    return json.dumps(made, indent=2) + "\n"


DRAFT = "https://json-schema.org/draft/2020-12/schema"
STRING: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": STRING}
TIME: dict[str, Any] = {"type": "number", "description": "seconds since the epoch"}
MAYBE_TIME: dict[str, Any] = {"type": ["number", "null"]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def diagnosis() -> dict[str, Any]:
    """JSON schema (2020-12) of `diagnose --format json`: a diagnosis, or an error on exit 64 and 70."""
    string, texts = STRING, TEXTS
    line = {"type": ["integer", "null"], "minimum": 1}
    finding = _finding()
    result = _object({
        "schema": {"const": SCHEMA}, "verdict": {"enum": list(get_args(Verdict))},
        "findings": {"type": "array", "items": finding}, "facts": {"type": "object"},
        "sources": {"type": "array", "items": _object(dict.fromkeys(("path", "format", "state", "reason"), string))},
        "unknown": texts,
    })  # fmt: skip
    error = _object({"schema": {"const": SCHEMA}, "error": _object({
        "code": {"enum": ["usage", "internal"]}, "message": string, "path": {"type": ["string", "null"]},
        "line": line})})  # fmt: skip
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, "oneOf": [result, error]}


def _finding() -> dict[str, Any]:
    line = {"type": ["integer", "null"], "minimum": 1}
    evidence = _object({"path": STRING, "line": line, "text": {"type": "string", "maxLength": 2000}})
    return _object({
        "rule": STRING, "fault": STRING, "role": {"enum": list(get_args(Role))}, "severity": {"enum": list(get_args(Severity))},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1}, "title": STRING, "cause": STRING, "fix": TEXTS,
        "confirm": TEXTS, "evidence": {"type": "array", "items": evidence}, "entities": TEXTS,
        "action": {"type": ["object", "null"]},
    })  # fmt: skip


def _condition(with_finding: bool) -> dict[str, Any]:
    properties = {"key": STRING, "state": {"enum": list(get_args(ConditionState))}, "since": TIME, "reason": STRING, "ends": STRING}
    return _object({**properties, "finding": _finding()} if with_finding else properties)


def _incident() -> dict[str, Any]:
    return _object({
        "id": STRING, "fault": STRING, "severity": {"enum": list(get_args(Severity))},
        "state": {"enum": list(get_args(IncidentState))},
        "opened": TIME, "updated": TIME, "resolved": MAYBE_TIME, "root": STRING, "title": STRING,
        "findings": {"type": "array", "items": _finding()}, "conditions": {"type": "array", "items": _condition(False)},
        "revisions": {"type": "array", "items": _object({"time": TIME, "what": STRING})},
    })  # fmt: skip


def _source() -> dict[str, Any]:
    return _object({
        "name": STRING, "state": {"enum": list(get_args(SourceState))}, "reason": STRING, "since": TIME, "last": MAYBE_TIME,
        "age": MAYBE_TIME, "budget": {"type": "number"}, "mandatory": {"type": "boolean"},
    })  # fmt: skip


def status() -> dict[str, Any]:
    """JSON schema of `status --format json`; `daemon` null: none answers."""
    daemon = _object({
        "pid": {"type": "integer"}, "version": STRING, "started": TIME, "rules": {"type": "integer"}, "reload": STRING,
        **dict.fromkeys(("history", "journal", "conditions", "directory"), _object({"state": STRING, "reason": STRING})),
    })  # fmt: skip
    result = _object({
        "schema": {"const": "neuronwatch.status/1"}, "verdict": {"enum": list(get_args(Verdict))}, "reasons": TEXTS, "time": TIME,
        "daemon": {"oneOf": [daemon, {"type": "null"}]}, "incidents": {"type": "array", "items": _incident()},
        "conditions": {"type": "array", "items": _condition(True)}, "sources": {"type": "array", "items": _source()},
        "unknown": TEXTS,
    })  # fmt: skip
    result["properties"]["overview"] = _overview()  # not where no daemon answers, and not in what the daemon itself tells
    return {"$schema": DRAFT, "$id": "neuronwatch.status/1", **result}


def _overview() -> dict[str, Any]:
    """The figures of the dashboard's first page (tui/view/summary.py)."""
    number, count = {"type": ["number", "null"]}, {"type": "integer", "minimum": 0}
    seen = _object({"value": number, "trust": {"enum": list(get_args(Trust))}, "age": number})
    end = {"oneOf": [_object({"core": STRING, "utilization": number}), {"type": "null"}]}
    device = _object({"device": STRING, "utilization": number, "memory_used": number, "memory_total": number, "faults": TEXTS,
                      "cores": {"type": "array", "items": {"enum": list(get_args(CoreState))}}})  # fmt: skip
    word = {"type": ["string", "null"]}
    job = {"id": word, "name": word, "kind": word, "phase": word, "age": number, **dict.fromkeys(OF_JOBS, number)}
    states = dict.fromkeys(get_args(CoreState), count)
    return _object({
        "cores": _object({"total": count, **states, "mean": number, "hottest": end, "idlest": end}),
        "devices": {"type": "array", "items": device}, "host": _object(dict.fromkeys(HOST, seen)),
        "jobs": {"type": "array", "items": _object({**job, "utilization": seen})},
    })  # fmt: skip


def incidents() -> dict[str, Any]:
    """JSON schema of `incidents --format json`."""
    return {"$schema": DRAFT, "$id": "neuronwatch.incidents/1", **_object({
        "schema": {"const": "neuronwatch.incidents/1"}, "incidents": {"type": "array", "items": _incident()},
    })}  # fmt: skip


def job_report() -> dict[str, Any]:
    """JSON schema of `run --report FILE`. `exit` is what a shell sees; null is not known."""
    number, code, word = (
        {"type": ["number", "null"]},
        {"type": ["integer", "null"]},
        {"type": ["string", "number", "boolean", "null"]},
    )
    change = _object({"where": {"enum": ["argv", "env", "config"]}, "name": STRING, "old": word, "new": word, "words": STRING})
    changes = {"type": "array", "items": change}
    remedy = _object({"fault": STRING, "action": STRING, "diff": changes, "t_fault": number, "t_detected": number,
                      "t_verified": number, "result": STRING, "why": STRING})  # fmt: skip
    one = _object({"number": {"type": "integer"}, "began": number, "ended": number, "why": STRING, "exit": code})
    point = {"type": "array", "prefixItems": [number, number], "minItems": 2, "maxItems": 2}
    return {"$schema": DRAFT, "$id": "neuronwatch.run/1", **_object({
        "schema": {"const": "neuronwatch.run/1"}, "job": STRING, "status": {"enum": ["done", "stopped", "failed", "unknown"]},
        "exit": {"type": "integer"}, "signal": code, "reason": STRING, "policy": {"enum": list(get_args(Mode))}, "command": STRING,
        "began": number, "ended": number, "seconds": number, "restarts": {"type": "integer", "minimum": 0},
        "runs": {"type": "array", "items": one}, "remedies": {"type": "array", "items": remedy},
        "lost": _object({"between": {"type": "number"}, "failed_runs": {"type": "number"}}),
        "verdict": {"enum": [*get_args(Verdict), None]}, "findings": {"type": "array", "items": _finding()}, "unknown": TEXTS,
        "curves": {"type": "object", "additionalProperties": {"type": "array", "items": point}}, "tokens_per_s": number,
        "cost": _object({"price_per_hour": number, "total": number, "per_million_tokens": number}), "suggested": changes,
    })}  # fmt: skip


def api() -> dict[str, Any]:
    """JSON schema of one line on the daemon's socket: a request, an answer, or an event."""
    from neuronwatch.daemon import methods, protocol
    from neuronwatch.daemon.api import TOPICS

    number = {"type": ["integer", "string", "null"]}
    described = {name: " ".join((call.__doc__ or "").split()) for name, call in methods.CALLS.items()}
    request = {
        "type": "object", "required": ["method"], "title": "request", "properties": {"id": number, "params": {"type": "object"},
        "method": {"oneOf": [{"const": name, "description": text} for name, text in described.items()]}},
    }  # fmt: skip
    answer = {**_object({"id": number, "result": {}}), "title": "answer"}
    error = {**_object({"id": number, "error": _object({"code": STRING, "message": STRING})}), "title": "error"}
    event = {
        "type": "object", "title": "event", "required": ["event", "data"],
        "properties": {"event": {"enum": ["hello", *TOPICS]}, "data": {}, "dropped": {"type": "integer", "minimum": 0}},
    }  # fmt: skip
    return {"$schema": DRAFT, "$id": protocol.SCHEMA, "oneOf": [request, answer, error, event]}
