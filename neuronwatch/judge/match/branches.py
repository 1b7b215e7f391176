"""A pattern as its branches: `A|B|C` is found where A, B or C is found.

Asking `re` only for the branch whose literal stands in the line is many times cheaper than trying a long alternation at
each of its characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from neuronwatch.judge.match.types import Pattern

_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
_REFERENCE = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")
"""A branch may refer to a group of another one: such a pattern stays whole."""
_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])*\Z")


@lru_cache(maxsize=4096)
def branches(regex: str) -> tuple[str, ...]:
    """The branches of the topmost alternation, each with the global flags of the whole; (regex,) where there is none."""
    flags = _FLAGS.match(regex)
    lead = flags.group() if flags else ""
    body = regex[len(lead) :]
    if "x" in lead or "|" not in body or _REFERENCE.search(body):
        return (regex,)
    parts: list[str] = []
    depth = start = at = 0
    while at < len(body):
        char = body[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(body, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and depth == 0:
            parts.append(body[start:at])
            start = at + 1
        at += 1
    parts.append(body[start:])
    if len(parts) == 1 or not all(parts):
        return (regex,)
    return tuple(lead + part for part in parts)


class Unit(NamedTuple):
    """A branch, and the patterns (sorted ids) that have it: what many rules ask is asked once."""

    regex: str
    ids: tuple[int, ...]


def units_of(patterns: Iterable[Pattern]) -> tuple[Unit, ...]:
    users: dict[str, list[int]] = {}
    for pattern in patterns:
        for branch in dict.fromkeys(branches(pattern.regex)):
            users.setdefault(branch, []).append(pattern.id)
    return tuple(Unit(branch, tuple(sorted(ids))) for branch, ids in users.items())


def plain_text(branch: str) -> str | None:
    """The text that a branch without any operator stands for, where case matters; None for all others."""
    if branch.startswith("(?") or not _PLAIN.match(branch):
        return None
    return re.sub(r"\\(.)", r"\1", branch)


def _class_end(body: str, at: int) -> int:
    """The index of the bracket that closes the class opened at `at`."""
    at += 1
    if body[at : at + 1] == "^":
        at += 1
    if body[at : at + 1] == "]":
        at += 1
    while at < len(body) and body[at] != "]":
        at += 2 if body[at] == "\\" else 1
    return at
