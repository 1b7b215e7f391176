"""Loader and linter of one rule file, one piece of code: text in, Rule or RuleError (with file, line and mend) out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from neuronwatch.judge.rules import expr, lint
from neuronwatch.judge.rules.model import (
    Clue,
    Ends,
    Join,
    Rule,
    RuleError,
    RuleProblem,
    RuleSample,
    Signature,
    Unless,
)
from neuronwatch.model.dataclass import replace
from neuronwatch.parse import _toml

_TOP = {
    "id": str, "fault": str, "title": str, "stage": str, "severity": str, "maturity": str, "role": str,
    "confidence": float, "cause": str, "fix": list, "confirm": list, "action": str, "references": list,
    "yields_to": list, "require": list, "tell": str, "ends": dict, "signature": list, "join": list, "clue": list, "unless": list,
    "sample": list,
}  # fmt: skip
_TABLES: dict[str, dict[str, type[Any]]] = {
    "ends": {"how": str, "pattern": str, "when": list, "seconds": float},
    "signature": {"name": str, "pattern": str, "literals": list, "on": list, "when": list, "confidence": float,
                  "weak": bool},
    "join": {"name": str, "when": list, "confidence": float},
    "clue": {"when": list, "add": float, "why": str},
    "unless": {"when": list, "why": str},
    "sample": {"expect": str, "text": str, "files": dict, "why": str},
}  # fmt: skip
MAX_PROBLEMS = 50
"""Further ones of a file are not told: to find the line of each takes time, and nobody reads them."""
MAX_SAMPLES = 1_000
_REQUIRED = ("id", "fault", "title", "stage", "severity", "cause", "ends")


class _Source:
    """The text of a rule file, to find the line of a key; problems are collected, not raised one by one."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.problems: list[RuleProblem] = []

    def problem(self, message: str, table: str = "", index: int = 0, key: str = "") -> None:
        if len(self.problems) >= MAX_PROBLEMS:
            return
        self.problems.append(RuleProblem(self.path, self.line(table, index, key), message))

    def line(self, table: str, index: int, key: str) -> int:
        start = 0
        if table:
            heads = [i for i, line in enumerate(self.lines) if re.match(rf"\s*\[\[?{re.escape(table)}\b", line)]
            start = heads[index] if index < len(heads) else 0
        if key:
            for number in range(start, len(self.lines)):
                if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", self.lines[number]):
                    return number + 1
        return start + 1


def load_rule(path: str, text: str) -> Rule:
    """The rule of one TOML text. Raises RuleError with all problems, each with file, line and mend."""
    source = _Source(path, text)
    try:
        document = _toml.loads(text)
    except _toml.TomlError as error:
        raise RuleError([RuleProblem(path, error.line or 1, str(error))]) from None
    _check_keys(source, document)
    if source.problems:
        raise RuleError(source.problems)
    rule = _build(source, document)
    lint.check_rule(rule, source.problem)
    if source.problems:
        raise RuleError(source.problems)
    return replace(rule, joins=tuple(replace(join, needs=expr.needs(join.when)) for join in rule.joins))


def _check_keys(source: _Source, document: dict[str, Any]) -> None:
    _check_table(source, document, _TOP, "", 0)
    for key in _REQUIRED:
        if key not in document:
            source.problem(f'missing key "{key}"')
    for table, allowed in _TABLES.items():
        entries: Any = document.get(table, [])
        if len(entries) > MAX_SAMPLES:
            source.problem(f"more than {MAX_SAMPLES} [[{table}]]")
            continue
        for index, entry in enumerate([entries] if isinstance(entries, dict) else entries):
            if isinstance(entry, dict):
                _check_table(source, entry, allowed, table, index)
            else:
                source.problem(f"[[{table}]] must be a table", table, index)


def _check_table(source: _Source, entry: dict[str, Any], allowed: Mapping[str, type[Any]], table: str, index: int) -> None:
    for key, value in entry.items():
        if key not in allowed:
            near = difflib.get_close_matches(key[:80], allowed, 1)
            mend = f', did you mean "{near[0]}"?' if near else f"; allowed: {', '.join(sorted(allowed))}"
            source.problem(f'unknown key "{key[:80]}"{mend}', table, index, key)
            continue
        wanted = allowed[key]
        if wanted is list and isinstance(value, str) and key in ("when", "fix", "confirm"):
            continue
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            continue
        if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
            source.problem(f'"{key}" must be a {wanted.__name__}, not {type(value).__name__}', table, index, key)
        elif isinstance(value, list) and (table or key not in _TABLES) and not all(isinstance(item, str) for item in value):
            source.problem(f'"{key}" must be a list of texts', table, index, key)


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(item) for item in value)


def _build(source: _Source, doc: dict[str, Any]) -> Rule:
    ends = doc["ends"]
    literals, ignore_case = _literals(source, ends["pattern"], "ends", 0) if ends.get("pattern") else ((), False)
    return Rule(
        id=doc["id"], fault=doc["fault"], title=doc["title"], stage=doc["stage"], severity=doc["severity"],
        maturity=doc.get("maturity", "beta"), role=doc.get("role", "cause"),
        confidence=float(doc.get("confidence", 0.7)), cause=doc["cause"].strip(), fix=_texts(doc.get("fix")),
        confirm=_texts(doc.get("confirm")), action=doc.get("action", "advise"),
        references=_texts(doc.get("references")), yields_to=_texts(doc.get("yields_to")),
        require=_texts(doc.get("require")),
        ends=Ends(ends.get("how", ""), ends.get("pattern", ""), literals, ignore_case, _texts(ends.get("when")),
                  ends.get("seconds")),
        signatures=tuple(_signature(source, i, item) for i, item in enumerate(doc.get("signature", []))),
        joins=tuple(Join(item.get("name", f"join-{i + 1}"), _texts(item.get("when")), item.get("confidence"))
                    for i, item in enumerate(doc.get("join", []))),
        clues=tuple(Clue(_texts(item.get("when")), float(item.get("add", 0.0)), item.get("why", ""))
                    for item in doc.get("clue", [])),
        unless=tuple(Unless(_texts(item.get("when")), item.get("why", "")) for item in doc.get("unless", [])),
        samples=tuple(_sample(source, i, item) for i, item in enumerate(doc.get("sample", []))),
        tell=doc.get("tell", ""), path=source.path,
    )  # fmt: skip


def _literals(source: _Source, pattern: str, table: str, index: int) -> tuple[tuple[str, ...], bool]:
    try:
        return lint.literals_of(pattern)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        source.problem(f"not a regular expression: {error}", table, index, "pattern")
        return (), False


def _signature(source: _Source, index: int, item: dict[str, Any]) -> Signature:
    pattern = item.get("pattern", "")
    found, ignore_case = _literals(source, pattern, "signature", index)
    literals = _texts(item.get("literals")) or found
    if ignore_case:
        literals = tuple(literal.lower() for literal in literals)
    return Signature(
        item.get("name", f"signature-{index + 1}"), pattern, literals, ignore_case, _texts(item.get("on")),
        _texts(item.get("when")), item.get("confidence"), bool(item.get("weak", False)),
    )  # fmt: skip


def _sample(source: _Source, index: int, item: dict[str, Any]) -> RuleSample:
    expect = item.get("expect", "fires")
    if expect not in ("fires", "silent"):
        source.problem(f'expect must be "fires" or "silent", not "{expect}"', "sample", index, "expect")
    files = {str(name): str(text) for name, text in item.get("files", {}).items()}
    if "text" in item:
        files["sample.log"] = item["text"]
    if not files:
        source.problem("a sample needs `text` or `files`", "sample", index)
    return RuleSample(expect == "fires", files, item.get("why", ""))
