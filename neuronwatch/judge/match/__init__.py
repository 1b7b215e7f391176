"""Searching all patterns of all rules in one pass over the bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neuronwatch.judge.match.literals import required_literals
from neuronwatch.judge.match.pure import PureMatcher
from neuronwatch.judge.match.types import OVERLAP, PIECE, Buffer, Hit, Matcher, Pattern

__all__ = ["OVERLAP", "PIECE", "Buffer", "Hit", "Matcher", "Pattern", "matcher_for", "pattern_of", "required_literals"]


def pattern_of(number: int, regex: str) -> Pattern:
    """A pattern with its literals worked out. Raises re.error for what is no regular expression."""
    found = required_literals(regex)
    return Pattern(number, regex, *found) if found else Pattern(number, regex, ())


def matcher_for(patterns: Iterable[Pattern], cache_dir: Path | None = None, size_hint: int = 0) -> Matcher:
    """The cheapest matcher for about `size_hint` bytes; compiled tables are kept in `cache_dir` where that is given."""
    return PureMatcher(tuple(patterns))
