"""The expression language of rules: a safe subset of Python with three values (docs/design/0001-rule-format.md).

`check(source)` names what is wrong with an expression; `evaluate(source, scope)` gives a value, UNKNOWN where the
facts do not decide. Nothing is executed: the syntax tree is interpreted, only listed nodes and functions exist.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

from neuronwatch.judge.rules.functions import FUNCTIONS, MAX_ITEMS
from neuronwatch.model.records import Value


class Unknown:
    """The third value: the evidence does not decide."""

    def __repr__(self) -> str:
        return "unknown"

    def __bool__(self) -> bool:
        raise TypeError("unknown has no truth value")


UNKNOWN = Unknown()


class Scope(Protocol):
    """What an expression can see. Each access is recorded by the implementation, so a result can be explained."""

    def fact(self, name: str) -> Value | Unknown: ...
    def fact_values(self, name: str) -> list[Value]: ...
    def group(self, name: str) -> str | Unknown: ...
    def hits(self, signature: str) -> int: ...
    def fired(self, rule_or_fault: str) -> bool | Unknown: ...
    def before(self, first: str, second: str) -> bool | Unknown: ...


class ExpressionError(ValueError):
    """The text is not an expression of the language."""


_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b,
}  # fmt: skip
_FACT_FUNCTIONS = {"known", "unknown", "values", "distinct", "val"}
_TEXT_FUNCTIONS = {"seen", "count", "fired", "before"}
MAX_SOURCE, MAX_DEPTH = 8_000, 60
"""Characters of an expression, and how deep it may be nested: evaluating is recursive."""


@lru_cache(maxsize=4096)
def parse(source: str) -> ast.expr:
    """The checked syntax tree. Raises ExpressionError with a position and the nearest mend."""
    if len(source) > MAX_SOURCE:
        raise ExpressionError(f"longer than {MAX_SOURCE} characters")
    try:
        with warnings.catch_warnings():  # `'\\d'` in an expression is a regular expression, and no business of Python's compiler
            warnings.simplefilter("ignore")
            tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}") from None
    _check(tree)
    return tree


def dotted(node: ast.AST) -> str | None:
    """`launch.tp` for its Attribute node, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def names(source: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Fact names used by an expression, and (function, text argument) pairs of seen, count, fired and before."""
    facts: set[str] = set()
    texts: set[tuple[str, str]] = set()

    def walk(node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _TEXT_FUNCTIONS:
                texts.update((node.func.id, str(arg.value)) for arg in node.args if isinstance(arg, ast.Constant))
                return
            for arg in node.args:
                walk(arg)
            return
        name = dotted(node)
        if name is not None:
            if not name.startswith("g."):
                facts.add(name)
            return
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(parse(source))
    return facts, texts


def needs(sources: Iterable[str]) -> tuple[str, ...]:
    """Facts without which not all of the expressions can be true, and signatures (as `@name`) that must have been seen.

    Sound, not complete: where one of them is absent the expressions need not be evaluated.
    """
    found: set[str] = set()
    for source in sources:
        found |= _needs(parse(source))
    return tuple(sorted(name.removeprefix("@known ") for name in found))


def _needs(node: ast.AST) -> set[str]:
    if isinstance(node, ast.BoolOp):
        parts = [_needs(child) for child in node.values]
        return set.union(*parts) if isinstance(node.op, ast.And) else set.intersection(*parts)
    if isinstance(node, ast.UnaryOp):
        return _needs_of_not(node.operand) if isinstance(node.op, ast.Not) else _needs(node.operand)
    if isinstance(node, ast.Call):
        return _call_needs(node)
    if isinstance(node, ast.IfExp):
        return _needs(node.test) | (_needs(node.body) & _needs(node.orelse))
    if isinstance(node, ast.Compare):
        parts = [_needs(child) for child in (node.left, *node.comparators)]
        return {name for name in set.union(*parts) if not name.startswith("@")}
    name = dotted(node)
    if name is not None:
        return set() if name.startswith("g.") else {name}
    parts = [_needs(child) for child in ast.iter_child_nodes(node)]
    return {name for name in set().union(*parts) if not name.startswith("@")}


def _needs_of_not(node: ast.AST) -> set[str]:
    """What `not node` needs: an absent fact leaves it unknown, but `not known(x)` and `not (a and b)` may be true."""
    if isinstance(node, ast.BoolOp):
        parts = [_needs_of_not(child) for child in node.values]
        return set.intersection(*parts) if isinstance(node.op, ast.And) else set.union(*parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _needs(node.operand)
    return {name for name in _needs(node) if not name.startswith("@")}


def _call_needs(node: ast.Call) -> set[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "known":
        fact = dotted(node.args[0]) or ""
        return set() if fact.startswith("g.") else {f"@known {fact}"}
    if name in ("seen", "before"):
        return {"@" + str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)}
    if name in ("val", "values", "distinct", "unknown", "count", "fired"):
        return set()
    return {item for arg in node.args for item in _needs(arg) if not item.startswith("@")}


def patterns(source: str) -> list[str]:
    """The regular expressions in an expression: second arguments of matches()."""
    return [
        node.args[1].value for node in ast.walk(parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "matches" and len(node.args) == 2
        and isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str)
    ]  # fmt: skip


def _check(node: ast.AST, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise ExpressionError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, (str, int, float, bool, type(None))):
            raise ExpressionError(f"a {type(node.value).__name__} literal is not part of the language")
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        if dotted(node) is None:
            raise ExpressionError("only dotted fact names and g.GROUP may follow a dot")
        return
    if isinstance(node, ast.Call):
        _check_call(node, depth)
        return
    allowed = (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.List, ast.Tuple, ast.operator,
               ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)  # fmt: skip
    if not isinstance(node, allowed) or isinstance(node, (ast.Pow, ast.LShift, ast.MatMult)):
        raise ExpressionError(f"{type(node).__name__} is not part of the language")
    for child in ast.iter_child_nodes(node):
        _check(child, depth + 1)


def _check_call(node: ast.Call, depth: int) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only the listed functions can be called")
    name = node.func.id
    if name not in FUNCTIONS and name not in _FACT_FUNCTIONS and name not in _TEXT_FUNCTIONS:
        raise ExpressionError(f"no function {name}()")
    if node.keywords:
        raise ExpressionError(f"{name}() takes no keywords")
    if name in _FACT_FUNCTIONS and (not node.args or dotted(node.args[0]) is None):
        raise ExpressionError(f"{name}() takes a fact name")
    if name == "matches" and not (len(node.args) == 2 and isinstance(node.args[1], ast.Constant)):
        raise ExpressionError("matches() takes a text and a regular expression in quotes")
    if name in _TEXT_FUNCTIONS and len(node.args) != (2 if name == "before" else 1):
        raise ExpressionError(f"{name}() takes {'two texts' if name == 'before' else 'one text'}")
    if name in _TEXT_FUNCTIONS and not all(isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in node.args):
        raise ExpressionError(f"{name}() takes a text in quotes")
    for arg in node.args:
        _check(arg, depth + 1)


def evaluate(source: str, scope: Scope) -> Any:
    """The value of an expression, or UNKNOWN. Operations that types do not allow give UNKNOWN, never an exception."""
    return _eval(parse(source), scope)


def truth(value: Any) -> bool | Unknown:
    """The three-valued truth of a result."""
    return UNKNOWN if isinstance(value, Unknown) else bool(value)


def _eval(node: ast.AST, scope: Scope) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = dotted(node) or ""
        return scope.group(name[2:]) if name.startswith("g.") else scope.fact(name)
    if isinstance(node, ast.BoolOp):
        return _bool(node, scope)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, scope)
    if isinstance(node, ast.BinOp):
        left, right = _eval(node.left, scope), _eval(node.right, scope)
        return _apply(_BINARY.get(type(node.op)), left, right)
    if isinstance(node, ast.Compare):
        return _compare(node, scope)
    if isinstance(node, ast.IfExp):
        test = truth(_eval(node.test, scope))
        return UNKNOWN if isinstance(test, Unknown) else _eval(node.body if test else node.orelse, scope)
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_eval(item, scope) for item in node.elts]
        return UNKNOWN if any(isinstance(item, Unknown) for item in items) else tuple(items)
    if isinstance(node, ast.Call):
        return _call(node, scope)
    return UNKNOWN


def _apply(function: Callable[..., Any] | None, *args: Any) -> Any:
    if function is None or any(isinstance(arg, Unknown) for arg in args):
        return UNKNOWN
    if function is operator.mul and any(isinstance(arg, (str, tuple)) for arg in args):
        return UNKNOWN
    if any(isinstance(arg, (str, tuple)) and len(arg) > MAX_ITEMS for arg in args):
        return UNKNOWN
    try:
        return function(*args)
    except (TypeError, ValueError, ArithmeticError, KeyError, IndexError, AttributeError, re.error, RecursionError):
        return UNKNOWN


def _bool(node: ast.BoolOp, scope: Scope) -> Any:
    decided = isinstance(node.op, ast.Or)
    unknown = False
    for child in node.values:
        value = truth(_eval(child, scope))
        if isinstance(value, Unknown):
            unknown = True
        elif value == decided:
            return decided
    return UNKNOWN if unknown else not decided


def _unary(node: ast.UnaryOp, scope: Scope) -> Any:
    value = _eval(node.operand, scope)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(node.op, ast.Not):
        return not value
    return _apply(operator.neg if isinstance(node.op, ast.USub) else operator.pos, value)


def _compare(node: ast.Compare, scope: Scope) -> Any:
    left = _eval(node.left, scope)
    unknown = False
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = _eval(right_node, scope)
        result = truth(_apply(_COMPARE.get(type(op)), left, right))
        if isinstance(result, Unknown):
            unknown = True
        elif not result:
            return False
        left = right
    return UNKNOWN if unknown else True


def _call(node: ast.Call, scope: Scope) -> Any:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in _TEXT_FUNCTIONS:
        texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if name == "seen":
            return scope.hits(texts[0]) > 0
        if name == "count":
            return scope.hits(texts[0])
        if name == "fired":
            return scope.fired(texts[0])
        return scope.before(texts[0], texts[1]) if len(texts) == 2 else UNKNOWN
    if name in _FACT_FUNCTIONS:
        return _fact_call(name, dotted(node.args[0]) or "", node, scope)
    return _apply(FUNCTIONS[name], *[_eval(arg, scope) for arg in node.args])


def _fact_call(name: str, fact: str, node: ast.Call, scope: Scope) -> Any:
    if name == "values":
        return tuple(scope.fact_values(fact))
    if name == "distinct":
        return len(scope.fact_values(fact))
    value = scope.group(fact[2:]) if fact.startswith("g.") else scope.fact(fact)
    if name == "known":
        return not isinstance(value, Unknown)
    if name == "unknown":
        return isinstance(value, Unknown)
    if isinstance(value, Unknown):
        return _eval(node.args[1], scope) if len(node.args) > 1 else None
    return value
