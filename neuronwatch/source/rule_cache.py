"""Compiled rules by the hash of their text: those that came with the wheel, and those of the cache directory.

A file is a seal (a hash of the rest), the hash of the code that compiles rules, and one line for each rule: the hash of its
text, a blank, a JSON list of its fields. Only the lines that are asked for are decoded. Nothing in it is believed that is not
of the type that the loader makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from neuronwatch import __version__
from neuronwatch.judge.rules.model import Clue, Ends, Join, Rule, Signature, Unless
from neuronwatch.model.digest import blake2b

MAX_CACHED = 4000
"""So many rules are kept in a file, the newest."""

_TYPES: dict[str, frozenset[type]] = {
    "str": frozenset([str]), "Role": frozenset([str]), "Severity": frozenset([str]), "bool": frozenset([bool]),
    "float": frozenset([float, int]), "float | None": frozenset([float, int, type(None)]),
    "tuple[str, ...]": frozenset([list]),
}  # fmt: skip
_Made = TypeVar("_Made")


def key_of(data: bytes) -> str:
    """The key of a rule file with this content."""
    return blake2b(data, digest_size=16).hexdigest()


def loader() -> bytes:
    """What compiled a rule: the version and the content of the code that does it."""
    digest = blake2b(__version__.encode(), digest_size=16)
    package = Path(__file__).resolve().parent.parent
    for name in ("load.py", "lint.py", "model.py", "expr.py"):
        digest.update((package / "judge" / "rules" / name).read_bytes())
    digest.update((package / "judge" / "match" / "literals.py").read_bytes())
    digest.update((package / "source" / "rule_cache.py").read_bytes())
    return digest.hexdigest().encode()


def packed(lines: dict[str, bytes]) -> bytes:
    """A file with these rules; the oldest go when they are many."""
    newest = list(lines.items())[-MAX_CACHED:]
    body = b"\n".join([loader(), *(key.encode() + b" " + line for key, line in newest)])
    return _seal(body) + b"\n" + body


def unpacked(data: bytes) -> dict[str, bytes]:
    """The lines of a file by key; none when it is damaged or of another loader."""
    seal, _, body = data.partition(b"\n")
    if seal != _seal(body):
        return {}
    head, *lines = body.split(b"\n")
    if head != loader():
        return {}
    return {line[:32].decode("ascii", "replace"): line[33:] for line in lines}


def _seal(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).hexdigest().encode()


def line_of(rule: Rule) -> bytes:
    """A rule without its samples and path."""
    rows = {
        "ends": _ENDS.row(rule.ends),
        "signatures": [_SIGNATURE.row(item) for item in rule.signatures],
        "joins": [_JOIN.row(item) for item in rule.joins],
        "clues": [_CLUE.row(item) for item in rule.clues],
        "unless": [_UNLESS.row(item) for item in rule.unless],
    }
    return json.dumps([*_RULE.row(rule), *(rows[name] for name in _ROWS)]).encode()


def rules_of(lines: Sequence[bytes], paths: Sequence[str]) -> list[Rule | None]:
    """The rules of lines, None for a line that is not what we wrote."""
    try:
        rows = json.loads(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        rows = []
    if len(rows) != len(lines):
        return [None] * len(lines)
    return [_rule(row, path) for row, path in zip(rows, paths, strict=True)]


def _rule(row: Any, path: str) -> Rule | None:
    try:
        ends, signatures, joins, clues, unless = row[-len(_ROWS) :]
        rule: Rule = _RULE.made(
            row[: -len(_ROWS)], path=path, ends=_ENDS.made(ends), signatures=_SIGNATURE.all(signatures), joins=_JOIN.all(joins),
            clues=_CLUE.all(clues), unless=_UNLESS.all(unless), samples=(),
        )  # fmt: skip
        return rule
    except (TypeError, ValueError):
        return None


class _Rows:
    """Objects of a class to rows (lists in the order of its fields, without those `given` otherwise) and back."""

    def __init__(self, kind: type[_Made], given: Iterable[str] = ()) -> None:
        noted = {name: text for name, text in kind.__annotations__.items() if name not in given}
        self._kind: Any = kind
        self._names = tuple(noted)
        self._allowed = [_TYPES[text] for text in noted.values()]
        self._lists = [index for index, text in enumerate(noted.values()) if text.startswith("tuple")]
        self._known: set[tuple[type, ...]] = set()

    def row(self, item: object) -> list[Any]:
        return [getattr(item, name) for name in self._names]

    def all(self, rows: Any) -> tuple[Any, ...]:
        if type(rows) is not list:
            raise TypeError("not a list")
        return tuple([self.made(row) for row in rows])

    def made(self, row: Any, **given: Any) -> Any:
        """Raises TypeError for a value of another type: a cache is not trusted."""
        types = tuple(map(type, row))
        if types not in self._known:
            if len(types) != len(self._allowed) or not all(kind in good for kind, good in zip(types, self._allowed, strict=True)):
                raise TypeError("not what was written")
            self._known.add(types)
        for index in self._lists:
            texts = row[index]
            if texts and set(map(type, texts)) != {str}:
                raise TypeError("not a list of texts")
            row[index] = tuple(texts)
        return self._kind(**dict(zip(self._names, row, strict=True)), **given) if given else self._kind(*row)


_ROWS = ("ends", "signatures", "joins", "clues", "unless")
_ENDS, _SIGNATURE, _JOIN, _CLUE, _UNLESS = map(_Rows, (Ends, Signature, Join, Clue, Unless))
_RULE = _Rows(Rule, (*_ROWS, "samples", "path"))
