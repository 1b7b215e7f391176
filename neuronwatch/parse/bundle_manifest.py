"""The manifest of a neuronwatch bundle: its capture time is the `now` of what the bundle holds, and what it says of sources
that were left out, cut, or could not be read on the original is said again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Issue, Origin, Record
from neuronwatch.parse._json import as_list, as_map
from neuronwatch.parse.api import Document, FileFormat

_SCHEMA = re.compile(rb'"schema"\s*:\s*"neuronwatch\.bundle/1"')
MAX_TOLD = 2_000
STATES = ("partial", "skipped", "missing", "failed")


def _sniff(document: Document) -> float:
    return 1.0 if document.data.lstrip().startswith(b"{") and _SCHEMA.search(document.data) else 0.0


def _parse(document: Document) -> Iterable[Union[Record, SourceReport]]:
    try:
        manifest = json.loads(document.text)
        created = manifest["created"]
        yield Fact("host.now", float(created), Origin(document.path, None, f"created {created}"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        yield Issue(Origin(document.path), f"not a bundle manifest: {type(error).__name__}")
        return
    for count, report in enumerate(_told(as_map(manifest), document.path[: len(document.path) - len(document.name)])):
        if count == MAX_TOLD:
            yield Issue(Origin(document.path), f"it names more than {MAX_TOLD:,} sources; the further ones are left out")
            return
        yield report


def _told(manifest: Mapping[str, Any], root: str) -> Iterator[SourceReport]:
    for entry in map(as_map, as_list(manifest.get("left_out"))):
        reason = str(entry.get("reason", ""))
        fmt = "binary" if entry.get("format", reason[:6]) == "binary" else "bundle"
        yield SourceReport(f"{root}evidence/{entry.get('path')}", fmt, "skipped", f"left out of the bundle: {reason}")
    for entry in map(as_map, as_list(manifest.get("files"))):
        if entry.get("cut"):
            reason = str(entry.get("reason") or "its middle was left out")
            yield SourceReport(f"{root}{entry.get('path')}", "bundle", "partial", f"cut in the bundle: {reason}")
    for entry in map(as_map, as_list(manifest.get("sources"))):
        path, state = str(entry.get("path")), str(entry.get("state"))
        if state in STATES:
            place = path if path.startswith("host:") else f"{root}evidence/{path}"
            yield SourceReport(place, str(entry.get("format")), state, str(entry.get("reason", "")))


FORMAT = FileFormat("neuronwatch-bundle", "metrics", _sniff, _parse, own=True)
