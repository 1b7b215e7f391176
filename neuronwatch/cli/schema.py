"""`neuronwatch schema`: the JSON schema of the diagnosis, generated from the words it is made of."""

from __future__ import annotations

import argparse
import json
from typing import Any, get_args

from neuronwatch.model.diagnosis import SCHEMA, Role, Severity, Verdict

FILE = "docs/schemas/neuronwatch.diagnosis-1.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=("diagnosis",), default="diagnosis", help="which schema (default: diagnosis)")


def run(args: argparse.Namespace) -> int:
    print(text(), end="")
    return 0


def text() -> str:
    """The schema as it is shipped in docs/schemas/."""
    return json.dumps(diagnosis(), indent=2) + "\n"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def diagnosis() -> dict[str, Any]:
    """JSON schema (2020-12) of `diagnose --format json`: a diagnosis, or an error on exit 64 and 70."""
    string, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    line = {"type": ["integer", "null"], "minimum": 1}
    evidence = _object({"path": string, "line": line, "text": {"type": "string", "maxLength": 2000}})
    finding = _object({
        "rule": string, "fault": string, "role": {"enum": list(get_args(Role))}, "severity": {"enum": list(get_args(Severity))},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1}, "title": string, "cause": string, "fix": texts,
        "confirm": texts, "evidence": {"type": "array", "items": evidence}, "entities": texts,
        "action": {"type": ["object", "null"]},
    })  # fmt: skip
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
