"""neuronwatch's own facts files (`host-facts.json` of a bundle, schema neuronwatch.facts/1): facts with their origins."""

from __future__ import annotations

import json
from collections.abc import Iterable

from neuronwatch.model.records import Fact, Issue, Origin, Record, Value
from neuronwatch.model.vocabulary import known
from neuronwatch.parse.api import Document, FileFormat

SCHEMA = "neuronwatch.facts/1"


def _sniff(document: Document) -> float:
    return 1.0 if document.data.lstrip().startswith(b"{") and SCHEMA.encode() in document.data[:200] else 0.0


def _value(value: object) -> Value:
    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if isinstance(value, dict):
        return {str(key): _value(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) else None


def _parse(document: Document) -> Iterable[Record]:
    try:
        entries = json.loads(document.text)["facts"]
        for entry in entries:
            if known(entry["name"]):
                line = entry.get("line")
                origin = Origin(str(entry["path"]), line if isinstance(line, int) else None, str(entry.get("text", "")))
                yield Fact(entry["name"], _value(entry["value"]), origin, str(entry.get("entity", "")), entry.get("past") is True)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield Issue(Origin(document.path), f"not a facts file: {type(error).__name__}")


FORMAT = FileFormat("neuronwatch-facts", "metrics", _sniff, _parse, own=True)
