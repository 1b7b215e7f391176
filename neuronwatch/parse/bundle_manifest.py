"""The manifest of a neuronwatch bundle: its capture time is the `now` of what the bundle holds."""

from __future__ import annotations

import json
from collections.abc import Iterable

from neuronwatch.model.records import Fact, Issue, Origin, Record
from neuronwatch.parse.api import Document, FileFormat


def _sniff(document: Document) -> float:
    return 1.0 if b'"neuronwatch.bundle/1"' in document.data else 0.0


def _parse(document: Document) -> Iterable[Record]:
    try:
        created = json.loads(document.text)["created"]
        yield Fact("host.now", float(created), Origin(document.path, None, f"created {created}"))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield Issue(Origin(document.path), f"not a bundle manifest: {type(error).__name__}")


FORMAT = FileFormat("neuronwatch-bundle", "metrics", _sniff, _parse)
