"""JSON documents of evidence: read without raising, with the line of a key as origin of the fact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from neuronwatch.model.records import MAX_TEXT, Fact, Origin, Value
from neuronwatch.parse.api import Document

MAX_BYTES = 32 * 1024 * 1024


def _constant(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def load(document: Document) -> object:
    """The parsed document, or None for anything that is not one JSON value (also nested too deeply)."""
    text = document.text.lstrip("\ufeff \t\r\n")
    if not text[:1] or text[0] not in "{[":
        return None
    try:
        return json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError):
        return None


def head_keys(document: Document) -> set[str]:
    """Names that stand before a colon in the first 64 KiB: what `sniff` looks at, also in a file cut short."""
    return set(re.findall(r"\"([A-Za-z_][\w.\-/]{0,80})\"\s{0,4}:", document.text[:65_536]))


class Places:
    """Origins by key: the first line of the document that names the key."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = document.text[:4_000_000].split("\n")
        self._cache: dict[str, Origin] = {}

    def of(self, key: str) -> Origin:
        if key not in self._cache:
            self._cache[key] = self._find(key)
        return self._cache[key]

    def _find(self, key: str) -> Origin:
        needle = f'"{key}"'
        for number, line in enumerate(self._lines[:50_000], start=1):
            at = line.find(needle)
            if at >= 0:
                start = max(0, at - 200) if len(line) > MAX_TEXT else 0
                return Origin(self._document.path, number, line[start : start + MAX_TEXT].rstrip("\r"))
        return Origin(self._document.path, None, "")

    def fact(self, name: str, value: Value, key: str) -> Fact:
        return Fact(name, value, self.of(key))


def get(mapping: Mapping[str, object], key: str, read: Callable[[object], Value]) -> Value:
    """`read(mapping[key])`, or None where it is absent or null."""
    value = mapping.get(key)
    return None if value is None else read(value)


def as_map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list (or one string as a tuple of one)."""
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in as_list(value) if isinstance(item, (str, int, float)))[:500]
