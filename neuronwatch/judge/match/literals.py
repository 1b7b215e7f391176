"""The literals that a regular expression cannot match without, taken from its parse tree.

A scan looks for these first; only a line that holds one of them is given to `re`. The answer is a set of which any one
must occur (an alternation needs one per branch).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as sre_constants  # type: ignore[attr-defined]
    from re import _parser as sre_parser  # type: ignore[attr-defined]
else:
    import sre_constants
    import sre_parse as sre_parser

MAX_ALTERNATIVES = 48
"""A set may grow to this many literals before the run is cut."""
MAX_CLASS = 4
"""A character class of at most this many characters is spelled out."""
MAX_LITERAL = 64
MIN_GOOD = 4
"""Shorter literals are only taken where there is no other."""

_COMMON = frozenset(
    "error warning failed failure exception traceback runtime neuron info debug python file line module rank loss step "
    "torch the and not for with from errors none true false model core cores neuroncore device version epoch time".split()
)
"""Words that ordinary logs are full of: a literal made of one of them finds too many lines to be a good filter."""


@dataclass
class _Part:
    """What is known of a piece of the pattern: `exact` are all texts it can match (None: too many), `best` is the best
    set of which one must occur in each match of it; where it is not exact, one of `head` begins and one of `tail` ends
    each text (so that `a+bc` still has "abc")."""

    exact: tuple[str, ...] | None
    best: tuple[str, ...] | None = None
    head: tuple[str, ...] = ("",)
    tail: tuple[str, ...] = ("",)


@lru_cache(maxsize=4096)
def required_literals(regex: str) -> tuple[tuple[str, ...], bool] | None:
    """The best set of literals of which one occurs in every match, and whether case is to be ignored (then they are
    lower-case; only ASCII letters are folded). None when there is no literal that must occur.

    Raises re.error for what is no regular expression.
    """
    tree = sre_parser.parse(regex)
    ignore_case = bool(tree.state.flags & sre_constants.SRE_FLAG_IGNORECASE) or _folds(tree)
    part = _sequence(list(tree), ignore_case)
    best = _better(_usable(part.exact), part.best)
    return (best, ignore_case) if best else None


def _folds(node: Any) -> bool:
    """Whether a scoped `(?i:...)` is anywhere inside."""
    for operator, argument in node:
        if operator is sre_constants.SUBPATTERN:
            if argument[1] & sre_constants.SRE_FLAG_IGNORECASE or _folds(argument[3]):
                return True
        elif any(_folds(child) for child in _children(operator, argument)):
            return True
    return False


def _children(operator: Any, argument: Any) -> Iterable[Any]:
    name = str(operator)
    if name == "BRANCH":
        return list(argument[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "GROUPREF_EXISTS":
        return [child for child in argument[1:] if child is not None]
    return []


def _sequence(items: Iterable[Any], fold: bool) -> _Part:
    """Runs of exact pieces are multiplied out; whatever is not exact ends a run."""
    run: tuple[str, ...] = ("",)
    whole = True
    best: tuple[str, ...] | None = None
    for operator, argument in items:
        part = _piece(operator, argument, fold)
        best = _better(best, part.best)
        product = None if part.exact is None else _product(run, part.exact)
        if product is not None:
            run = product
            continue
        whole = False
        joined = _product(run, part.head) if part.exact is None else None
        best = _better(best, _usable(joined or run))
        run = part.exact if part.exact is not None else part.tail
    best = _better(best, _usable(run))
    return _Part(run if whole else None, best)


def _piece(operator: Any, argument: Any, fold: bool) -> _Part:
    name = str(operator)
    if name == "LITERAL":
        return _characters([argument], fold)
    if name == "IN":
        return _class(argument, fold)
    if name == "AT":
        return _Part(("",))
    if name == "SUBPATTERN":
        return _sequence(argument[3], fold)
    if name == "ATOMIC_GROUP":
        return _sequence(argument, fold)
    if name == "BRANCH":
        return _branch([_sequence(branch, fold) for branch in argument[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeat(argument[0], argument[1], _sequence(argument[2], fold))
    if name == "ASSERT":
        # The text of a lookaround must stand in the line, but not as a part of the run around it.
        inside = _sequence(argument[1], fold)
        return _Part(("",), _better(_usable(inside.exact), inside.best))
    if name == "ASSERT_NOT":
        return _Part(("",))
    return _Part(None)


def _characters(codes: Sequence[int], fold: bool) -> _Part:
    if any(code == 0xFFFD or 0xD800 <= code <= 0xDFFF or (fold and code > 127) for code in codes):
        return _Part(None)  # no bytes of a file are sure to decode to these
    texts = dict.fromkeys(chr(code).lower() if fold else chr(code) for code in codes)
    return _Part(tuple(texts))


def _class(items: Sequence[Any], fold: bool) -> _Part:
    codes: list[int] = []
    for operator, argument in items:
        name = str(operator)
        if name == "LITERAL":
            codes.append(argument)
        elif name == "RANGE" and argument[1] - argument[0] < MAX_CLASS:
            codes.extend(range(argument[0], argument[1] + 1))
        else:
            return _Part(None)
    if len(codes) > 2 * MAX_CLASS:
        return _Part(None)
    part = _characters(codes, fold)
    return part if part.exact is not None and len(part.exact) <= MAX_CLASS else _Part(None)


def _branch(parts: Sequence[_Part]) -> _Part:
    exact: tuple[str, ...] | None = None
    if all(part.exact is not None for part in parts):
        union = tuple(dict.fromkeys(text for part in parts for text in part.exact or ()))
        exact = union if len(union) <= MAX_ALTERNATIVES else None
    sets = [_better(_usable(part.exact), part.best) for part in parts]
    if any(chosen is None for chosen in sets):
        return _Part(exact)
    union = tuple(dict.fromkeys(text for chosen in sets for text in chosen or ()))
    return _Part(exact, union if len(union) <= 4 * MAX_ALTERNATIVES else None)


def _repeat(low: int, high: Any, child: _Part) -> _Part:
    if low == 0:
        if high == 1 and child.exact is not None and len(child.exact) < MAX_CLASS:
            return _Part(tuple(dict.fromkeys((*child.exact, ""))))
        return _Part(None)
    best = _better(_usable(child.exact), child.best)
    if child.exact is None:
        return _Part(None, best)
    if low != high:
        return _Part(None, best, child.exact, child.exact)
    run: tuple[str, ...] | None = ("",)
    for _ in range(min(low, MAX_LITERAL)):
        run = _product(run, child.exact) if run is not None else None
    return _Part(run if low <= MAX_LITERAL else None, best)


def _product(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    if len(left) * len(right) > MAX_ALTERNATIVES or max(map(len, left)) > MAX_LITERAL:
        return None
    return tuple(dict.fromkeys(one + two for one in left for two in right))


def _usable(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The set without members that another member makes needless, or None when one of them is empty."""
    if not texts or "" in texts:
        return None
    kept = [text for text in texts if not any(other != text and other in text for other in texts)]
    return tuple(kept)


def _weight(texts: tuple[str, ...]) -> float:
    """How good a filter the set is: the weakest member counts, each further one costs a little."""
    worst = min(_strength(text) for text in texts)
    return worst - 0.05 * len(texts)


def _strength(text: str) -> float:
    solid = sum(1.0 if not char.isspace() else 0.3 for char in text[:24])
    words = [word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if word]
    common = sum(len(word) for word in words if word in _COMMON)
    return solid - 0.7 * common - (0.0 if len(text) >= MIN_GOOD else 100.0)


def _better(one: tuple[str, ...] | None, two: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if not one or not two:
        return one or two
    return two if _weight(two) > _weight(one) else one
