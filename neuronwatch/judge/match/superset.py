"""A regular expression for Hyperscan that matches at least every line that Python's `re` matches.

Bytes for characters, no anchors: what differs between the two dialects is widened, never narrowed. Used
for the few branches whose every literal is frequent in a log; `re` has the last word on what is found.
(Colours that lost their escape character, pasted into the middle of a match, may hide it here.)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from neuronwatch.judge.match.literals import plain_texts, requirement
from neuronwatch.judge.match.sre import sre_constants, sre_parser

MAX_REPEAT = 64
CUTS = 4
ANY = r"[^\r\n]{1,4}"
HIGH = r"[\x80-\xff]{1,4}"
_EDGES = {
    "AT_BEGINNING": r"(?:^|[\r\x00])", "AT_BEGINNING_STRING": r"(?:^|[\r\x00])",
    "AT_END": r"(?:$|[\r\x00])", "AT_END_STRING": r"(?:$|[\r\x00])",
}  # fmt: skip
"""Lines end at \\r too, and the zeros in them are not seen by `re`."""
_SPACE = frozenset((9, 10, 11, 12, 13, 28, 29, 30, 31, 32))


class Superset(NamedTuple):
    """The widened expression, and whether it is to be matched caselessly."""

    expression: bytes
    fold: bool


def superset(branch: str) -> Superset | None:
    """The widened expression of the whole branch, or None for what cannot be translated."""
    found = supersets(branch)
    return found[-1] if found else None


@lru_cache(maxsize=256)
def supersets(branch: str) -> list[Superset]:
    """Widened expressions, from a short beginning of the branch to the whole of it; the shorter, the faster.

    What may not stand in front of or behind the match (`(?<!prefix )hit rate`) is kept where it is plain text: such
    exceptions are there because the line would otherwise be found in every healthy log.
    """
    tree: Any = sre_parser.parse(branch)
    if tree.state.flags & sre_constants.SRE_FLAG_VERBOSE:
        return []
    fold = requirement(branch)[1]
    items = [(str(operator), argument) for operator, argument in tree]
    front = _other_than([text[::-1] for text in _excluded(items, -1, fold)], True)
    behind = _other_than(_excluded(items[::-1], 1, fold), False)
    found: list[Superset] = []
    text, literals = front, 0
    for index, item in enumerate(items):
        # A cut is worth a try where a run of literals of some length ends.
        if item[0] != "LITERAL" and literals >= 4 and (not found or len(found) < CUTS):
            found.append(Superset(text.encode("ascii"), fold))
        literals = literals + 1 if item[0] == "LITERAL" else 0
        text += _node(*item)
        if item[0] in ("BRANCH", "SUBPATTERN") and index + 1 < len(items) and len(found) < CUTS:
            found.append(Superset(text.encode("ascii"), fold))
    found.append(Superset((text + behind).encode("ascii"), fold))
    return found


def _excluded(items: Iterable[tuple[str, Any]], direction: int, fold: bool) -> list[str]:
    """The plain texts that the assertions at one end of a branch forbid."""
    found: list[str] = []
    for name, argument in items:
        if name == "AT":
            continue
        if name != "ASSERT_NOT" or argument[0] != direction:
            break
        inner = argument[1]
        if all(str(operator) in ("LITERAL", "IN", "BRANCH", "SUBPATTERN", "MAX_REPEAT") for operator, _ in inner):
            found.extend(plain_texts(inner, fold))
    return [text for text in found if text and text.isascii()]


def _other_than(texts: Iterable[str], backwards: bool) -> str:
    """An expression for the least that shows that none of `texts` is there: a character that differs, or the end of the
    text. Read backwards for what stands in front."""
    tree: dict[str, Any] = {}
    for text in texts:
        node = tree
        for char in text:
            node = node.setdefault(char, {})
        node["end"] = {}
    return _differs(tree, backwards) if tree else ""


def _differs(node: dict[str, Any], backwards: bool) -> str:
    if "end" in node:
        return ""  # here one of the texts is complete
    chars = sorted(node)
    options = ["[^" + "".join(f"\\x{ord(char):02x}" for char in chars) + "]", "^" if backwards else "$"]
    for char in chars:
        inner = _differs(node[char], backwards)
        if inner:
            literal = f"\\x{ord(char):02x}"
            options.append(inner + literal if backwards else literal + inner)
    return "(?:" + "|".join(options) + ")"


def _sequence(items: Iterable[Any]) -> str:
    return "".join(_node(str(operator), argument) for operator, argument in items)


def _node(name: str, argument: Any) -> str:
    if name == "LITERAL":
        return _literal(argument)
    if name in ("ANY", "NOT_LITERAL"):
        return ANY
    if name == "IN":
        return _class(argument)[0]
    if name == "BRANCH":
        return "(?:" + "|".join(_sequence(branch) for branch in argument[1]) + ")"
    if name == "SUBPATTERN":
        return "(?:" + _sequence(argument[3]) + ")"
    if name == "ATOMIC_GROUP":
        return "(?:" + _sequence(argument) + ")"
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeat(*argument)
    if name == "AT":
        return _EDGES.get(str(argument), "")
    if name in ("ASSERT", "ASSERT_NOT"):
        return ""
    return r"[^\r\n]*"


def _literal(code: int) -> str:
    return f"\\x{code:02x}" if code < 128 else HIGH


def _class(items: Iterable[Any]) -> tuple[str, bool]:
    """The class, and whether it may stand for characters of several bytes."""
    codes: set[int] = set()
    high = negated = False
    for operator, argument in items:
        name = str(operator)
        if name == "NEGATE":
            negated = high = True
        elif name == "LITERAL":
            codes.add(argument)
            high = high or argument > 127
        elif name == "RANGE":
            codes.update(range(argument[0], min(argument[1], 127) + 1))
            high = high or argument[1] > 127
        else:
            codes.update(code for code in range(128) if _in_category(str(argument), code))
            high = True
    # Negation of a folded class must not lose the other case.
    both = {ord(chr(code).swapcase()) for code in codes if code < 128}
    ascii_codes = set(range(128)) - {code for code in codes if ord(chr(code).swapcase()) in codes} if negated else codes | both
    text = "".join(f"\\x{code:02x}" for code in sorted(ascii_codes) if code < 128 and code not in (10, 13))
    if high:
        return f"[{text}\\x80-\\xff]{{1,4}}", True
    return (f"[{text}]" if text else r"[^\x00-\xff]"), False


def _in_category(name: str, code: int) -> bool:
    char = chr(code)
    if name.endswith("DIGIT"):
        found = char.isdigit()
    elif name.endswith("SPACE"):
        found = code in _SPACE
    else:
        found = char.isalnum() or char == "_"
    return found != ("NOT" in name)


def _repeat(low: int, high: Any, child: Any) -> str:
    items = list(child)
    if len(items) == 1 and str(items[0][0]) in ("ANY", "NOT_LITERAL", "IN"):
        name, argument = str(items[0][0]), items[0][1]
        text, wide = _class(argument) if name == "IN" else (ANY, True)
        single = text.removesuffix("{1,4}")
        return single + _bounds(low, high, 4 if wide else 1)
    return "(?:" + _sequence(items) + ")" + _bounds(low, high, 1)


def _bounds(low: int, high: Any, factor: int) -> str:
    top = int(high) * factor
    low = min(low, 8)
    if high == sre_constants.MAXREPEAT or top > MAX_REPEAT:
        return "*" if low == 0 else f"{{{low},}}"
    return f"{{{low},{top}}}"
