"""Searching all patterns of all rules in one pass over the bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neuronwatch.judge.match.literals import required_literals
from neuronwatch.judge.match.types import OVERLAP, PIECE, Apart, Buffer, Hit, Matcher, Pattern

__all__ = [
    "OVERLAP", "PIECE", "Apart", "Buffer", "Hit", "Matcher", "Pattern", "matcher_for", "pattern_of", "pure_matcher",
    "required_literals",
]  # fmt: skip


def pattern_of(number: int, regex: str) -> Pattern:
    """A pattern with its literals worked out. Raises re.error for what is no regular expression."""
    found = required_literals(regex)
    return Pattern(number, regex, *found) if found else Pattern(number, regex, ())


def matcher_for(patterns: Iterable[Pattern], cache_dir: Path | None = None, apart: Apart | None = None) -> Matcher:
    """The fastest matcher there is here; compiled tables are kept in `cache_dir` where that is given. For big texts see
    `Matcher.lean`; what it has to compile is compiled by `apart`, where that is given."""
    chosen = tuple(patterns)
    try:
        from neuronwatch.judge.match import fast
    except ImportError:  # no wheel for this machine
        return pure_matcher(chosen, cache_dir)
    matcher = fast.make(chosen, cache_dir)
    matcher.apart = apart
    return matcher


def pure_matcher(patterns: Iterable[Pattern], cache_dir: Path | None = None) -> Matcher:
    """The matcher that needs no library."""
    from neuronwatch.judge.match.branches import units_of
    from neuronwatch.judge.match.needs import needs_of
    from neuronwatch.judge.match.pure import PureMatcher

    units = units_of(patterns)
    return PureMatcher(units, needs_of(units, cache_dir))
