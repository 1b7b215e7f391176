"""Text of several lines: parts of a progress bar, records glued into one line, JSON inside any text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Line

MAX_JSON = 16 * 1024 * 1024
"""Characters of one JSON document at most; a longer one is not decoded."""

_MAX_ATTEMPTS = 64
_MAX_DEPTH = 64
_DECODER = json.JSONDecoder(parse_constant=float)
_OPENING = lazy(r"[\[{]")
_JSON_OPENING = lazy(r"[\[{]\s{0,80}[\[{\"]")


def segments(text: str) -> list[str]:
    """The states of a progress bar that were written over each other with `\\r`, oldest first, without empty ones."""
    return [part for part in text.split("\r") if part.strip()] if "\r" in text else [text]


def split_glued(text: str, start: re.Pattern[str]) -> list[str]:
    """The records of one line in which several writers wrote at once: each begins where `start` matches. What stands
    before the first match is not returned; a text without a match gives an empty list."""
    starts = [found.start() for found in start.finditer(text)]
    return [text[begin:end] for begin, end in zip(starts, [*starts[1:], len(text)], strict=False)]


class Json(NamedTuple):
    """A decoded document, the line on which it begins, and its lines as a range of indexes."""

    value: Any
    line: Line
    span: range


def json_documents(lines: Sequence[Line]) -> Iterator[Json]:
    """JSON objects and arrays in the bodies of `lines`: one a line (NDJSON), pretty-printed over many lines, several in
    one text, or behind a prompt. Cut documents are not returned (see `json_value_after`).

    Only two brackets of a line can open a document, and after 64 documents that do not close only those of one line are
    read, so that the cost stays linear in the text.
    """
    position = 0
    failed = 0
    while position < len(lines):
        decoded = None
        for column in _openings(lines[position].body):
            decoded = _decode_from(lines, position, column, failed < _MAX_ATTEMPTS)
            if decoded is not None:
                break
            failed += _balance(lines[position].body[column:]) > 0
        if decoded is None:
            position += 1
            continue
        value, last = decoded
        if isinstance(value, (dict, list)) and value:
            yield Json(value, lines[position], range(position, last + 1))
        position = last + 1


def _openings(body: str) -> list[int]:
    """Where a document may open: the first bracket, and the first one that looks like JSON."""
    found = [match.start() for pattern in (_OPENING, _JSON_OPENING) if (match := pattern.search(body))]
    return list(dict.fromkeys(found))


def _decode_from(lines: Sequence[Line], first: int, column: int, over_lines: bool) -> tuple[Any, int] | None:
    """The document that opens at `column` of line `first`, and the index of its last line."""
    head = lines[first].body[column:]
    value = _decode(head)
    if value is not None:
        return value[0], first
    if not over_lines or _balance(head) <= 0:
        return None
    last = _closing_line(lines, first, column)
    if last is None:
        return None
    text = "\n".join([head, *(line.body for line in lines[first + 1 : last + 1])])
    value = _decode(text)
    return None if value is None else (value[0], last)


def _decode(text: str) -> tuple[Any, int] | None:
    if len(text) > MAX_JSON:
        return None
    try:
        value: tuple[Any, int] = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value


_QUOTED = lazy(r'"(?:[^"\\]|\\.)*"?')
_BRACKET = lazy(r"[\[\]{}]")


def _balance(text: str, depth: int = 0) -> int:
    """`depth` plus the brackets that open minus those that close, outside of strings; 0 as soon as all are closed."""
    for found in _BRACKET.finditer(_QUOTED.sub("", text)):
        depth += 1 if found.group() in "[{" else -1
        if depth <= 0:
            return 0
    return depth


def _closing_line(lines: Sequence[Line], first: int, column: int) -> int | None:
    depth = _balance(lines[first].body[column:])
    size = len(lines[first].body)
    for index in range(first + 1, len(lines)):
        depth = _balance(lines[index].body, depth)
        size += len(lines[index].body)
        if depth <= 0:
            return index
        if size > MAX_JSON or depth > _MAX_DEPTH:
            return None
    return None


def json_value_after(text: str, key: str) -> Iterator[Any]:
    """The values that follow `"key":` in a text, also where the document around them is cut. Cut values are skipped."""
    for count, found in enumerate(re.finditer(rf'"{re.escape(key)}"\s{{0,8}}:\s{{0,80}}', text)):
        if count > _MAX_ATTEMPTS:
            return
        value = _decode(text[found.end() :])
        if value is not None:
            yield value[0]


def walk(value: Any, depth: int = 12) -> Iterator[dict[str, Any]]:
    """Every object in a decoded document, outermost first, down to `depth` levels."""
    level = [value]
    for _ in range(depth):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                yield item
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = [item for item in below if isinstance(item, (dict, list))]
        if not level:
            return
