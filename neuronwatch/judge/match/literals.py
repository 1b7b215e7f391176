"""The literals that a regular expression cannot match without, taken from its parse tree.

A scan looks for these first; only a line that holds one of them is given to `re`. What a pattern needs is a tree: of the
nodes under `any` one is enough to look for, under `all` (the branches of an alternation) each is needed, a leaf is a text; a
leaf under `head` begins the match. `choose` picks the cheapest texts by a price that may depend on the log at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Union

from neuronwatch.judge.match.branches import branches
from neuronwatch.judge.match.sre import sre_constants, sre_parser
from neuronwatch.model.dataclass import dataclass

Need = Union[str, tuple[str, tuple["Need", ...]]]
"""A text, or ("any", needs), ("all", needs), ("head", (text,))."""


class Literal(NamedTuple):
    """A chosen text; `head`: every match that holds it for this reason begins with it."""

    text: str
    head: bool


MAX_ALTERNATIVES = 96
"""A set may grow to this many literals before the run is cut."""
MAX_CLASS = 4
"""A character class of at most this many characters is spelled out."""
MAX_LITERAL = 64
_SHORT = {1: 5000.0, 2: 300.0, 3: 12.0, 4: 0.5, 5: 0.2, 6: 0.05}
"""What a short literal costs above others: it finds too much, and slows the fast matcher more than many long ones."""
_WORDS = """error warning failed failure exception traceback runtime neuron info debug python file line module rank loss step
torch the and not for with from errors none true false model core cores neuroncore device version epoch time"""
_COMMON = frozenset(_WORDS.split())
"""Words that ordinary logs are full of: a literal made of one of them finds too many lines to be a good filter."""


@dataclass
class _Part:
    """What is known of a piece of the pattern: `exact` are all texts it can match (None: too many), of `needs` each alone
    must occur in every match; where it is not exact, one of `head` begins and one of `tail` ends each text (so that
    `a+bc` still has "abc")."""

    exact: tuple[str, ...] | None
    needs: tuple[Need, ...] = ()
    head: tuple[str, ...] = ("",)
    tail: tuple[str, ...] = ("",)

    def need(self) -> Need | None:
        options = [*self.needs, *_usable(self.exact, True)]
        return None if not options else options[0] if len(options) == 1 else ("any", tuple(options))


@lru_cache(maxsize=4096)
def required_literals(regex: str) -> tuple[tuple[str, ...], bool] | None:
    """The best set of literals of which one occurs in every match, and whether case is to be ignored (then they are
    lower-case; only ASCII letters are folded). None when there is no literal that must occur.

    Raises re.error for what is no regular expression.
    """
    found = [requirement(branch) for branch in branches(regex)]
    ignore_case = any(folded for _, folded in found)
    needs = [need for need, _ in found if need is not None]
    if len(needs) < len(found):
        return None
    texts = tuple(dict.fromkeys(literal.text for need in needs for literal in choose(need, plain_price)))
    if ignore_case:
        texts = tuple(dict.fromkeys(text.lower() for text in texts))
    return _without_needless(texts), ignore_case


@lru_cache(maxsize=8192)
def requirement(branch: str) -> tuple[Need | None, bool]:
    """All that `branch` needs, and whether case is to be ignored. Raises re.error."""
    tree = sre_parser.parse(branch)
    ignore_case = bool(tree.state.flags & sre_constants.SRE_FLAG_IGNORECASE) or _folds(tree)
    items: Any = tree
    return _sequence(items, ignore_case).need(), ignore_case


def plain_texts(items: Any, fold: bool) -> tuple[str, ...]:
    """All texts that a piece of a parse tree can match, where they are few; else nothing."""
    return _sequence(items, fold).exact or ()


def choose(need: Need, price: Callable[[str], float]) -> tuple[Literal, ...]:
    """The cheapest texts that are enough to look for. Either all or none of them are heads."""
    found: dict[str, bool] = {}
    for text, head in _cheapest(need, price)[1]:
        found[text] = found.get(text, True) and head
    if all(found.values()):
        return tuple(Literal(text, True) for text in found)
    return tuple(Literal(text, False) for text in _without_needless(tuple(found)))


def _cheapest(need: Need, price: Callable[[str], float]) -> tuple[float, tuple[Literal, ...]]:
    if isinstance(need, str):
        return price(need) + 0.005, (Literal(need, False),)
    if need[0] == "head":
        text = str(need[1][0])
        return price(text), (Literal(text, True),)
    found = [_cheapest(child, price) for child in need[1]]
    if need[0] == "any":
        return min(found, key=lambda item: item[0])
    return sum(item[0] for item in found), tuple(text for item in found for text in item[1])


@lru_cache(maxsize=16384)
def plain_price(text: str) -> float:
    """The price of a text when nothing is known of the log: short and common ones are dear, each costs a little."""
    solid = sum(1.0 if not char.isspace() else 0.3 for char in text[:24])
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    common = sum(len(word) for word in words if word in _COMMON)
    return 0.02 + math.exp(-0.9 * (solid - 0.7 * common)) + _SHORT.get(len(text), 0.0)


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
    first = whole = True
    """`first`: the run began at the start of the match."""
    needs: list[Need] = []
    for operator, argument in items:
        part = _piece(operator, argument, fold)
        at_start = first and run == ("",)
        needs.extend(part.needs if at_start else map(_inner, part.needs))
        product = None if part.exact is None else _product(run, part.exact)
        if product is not None:
            run = product
            continue
        joined = _product(run, part.head) if part.exact is None else None
        needs.extend(_usable(joined or run, first))
        first = whole = False
        run = part.exact if part.exact is not None else part.tail
    if whole:
        return _Part(run, tuple(needs))
    return _Part(None, (*needs, *_usable(run, False)))


def _inner(need: Need) -> Need:
    """The need of something that does not begin the match."""
    if isinstance(need, str):
        return need
    return need[1][0] if need[0] == "head" else (need[0], tuple(map(_inner, need[1])))


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
        need = _sequence(argument[1], fold).need()
        return _Part(("",), () if need is None else (_inner(need),))
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
    needs = [part.need() for part in parts]
    found = [need for need in needs if need is not None]
    return _Part(exact, (("all", tuple(found)),) if len(found) == len(parts) and exact is None else ())


def _repeat(low: int, high: Any, child: _Part) -> _Part:
    if low == 0:
        if high == 1 and child.exact is not None and len(child.exact) < MAX_CLASS:
            return _Part(tuple(dict.fromkeys((*child.exact, ""))))
        return _Part(None)
    need = child.need()
    needs = () if need is None else (need,)
    if child.exact is None:
        return _Part(None, needs)
    if low != high:
        return _Part(None, needs, child.exact, child.exact)
    run: tuple[str, ...] | None = ("",)
    for _ in range(min(low, MAX_LITERAL)):
        run = _product(run, child.exact) if run is not None else None
    return _Part(run if low <= MAX_LITERAL else None, needs)


def _product(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    if len(left) * len(right) > MAX_ALTERNATIVES or max(map(len, left)) > MAX_LITERAL:
        return None
    return tuple(dict.fromkeys(one + two for one in left for two in right))


def _usable(texts: tuple[str, ...] | None, head: bool) -> tuple[Need, ...]:
    """The need of one of `texts`; nothing when one of them is empty."""
    if not texts or "" in texts:
        return ()
    needs: tuple[Need, ...] = tuple(("head", (text,)) if head else text for text in texts)
    return (needs[0],) if len(needs) == 1 else (("all", needs),)


def _without_needless(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Without those that hold another one: whoever finds the shorter one finds them too."""
    return tuple(text for text in texts if not any(other != text and other in text for other in texts))


def forget() -> None:
    """Drops what was remembered while tables were made: 5 MB that a daemon needs once."""
    for remembered in (required_literals, requirement, plain_price):
        remembered.cache_clear()
