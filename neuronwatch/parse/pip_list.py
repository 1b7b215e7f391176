"""Installed Python packages: `pip list` and conda tables, freeze lines, `pip show`, `pip index versions`, JSON lists, and
the environment reports that people paste (`optimum-cli env`, `transformers-cli env`, vLLM's collect_env)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, package_fact
from neuronwatch.parse.api import Line, LineFormat

_OTHERS = (
    r"torch(?:[-_]xla|vision|audio)?|transformers|optimum|numpy|protobuf|jax(?:lib)?|tensorflow|vllm|accelerate|peft|trl|"
    r"datasets|diffusers|deepspeed|triton|tokenizers|huggingface[-_]hub|(?:pytorch-)?lightning|ray|"
    r"sentence[-_]transformers|mxnet|setuptools"
)
_KNOWN = r"(?:[a-z_\-]{0,30}neuron[a-z_\-]{0,30}|" + _OTHERS + r")"
_TAIL = r"(?:[+!_\-.][\w.\-]{1,60})?"
_VERSION = r"(v?[0-9]{1,8}(?:\.[0-9A-Za-z*]{1,20}){0,8}" + _TAIL + r")"
_DOTTED = r"(v?[0-9]{1,8}(?:\.[0-9A-Za-z*]{1,20}){1,8}" + _TAIL + r")"
_NAME = r"([A-Za-z0-9][\w.\-]{0,80})"
_FRONT = r"^\s{0,8}(?:\[(?:pip3?|conda)\]\s{1,4})?"

_TABLE = lazy(r"^\W{0,3}Package\s{1,90}Version(?:\s|$)")
_CONDA = lazy(r"^#?\s{0,3}Name\s{1,60}Version\s{1,40}Build")
_RULE = lazy(r"^[-\s]{3,400}$")
_ROW = lazy(_FRONT + r"([A-Za-z0-9_][\w.\-]{0,80})" + r"\s{1,90}" + _VERSION + r"(?:\s{1,60}\S.{0,300})?\s{0,80}$")
_BARE = lazy(_FRONT + "(" + _KNOWN + r")\s{1,90}" + _DOTTED + r"(?:\s{1,40}[\w.\-/]{1,60}){0,3}\s{0,40}$", re.I)
_FREEZE = lazy(
    r"^[\s\-*`\"']{0,8}(?:\[(?:pip3?|conda)\]\s{1,4})?"
    + _NAME
    + r"(?:\[[\w,\-]{1,60}\])?===?"
    + _VERSION
    + r"[`\"',]{0,2}(?:\s{0,4}[;#@].{0,200})?\s{0,20}$"
)
_PAIR = lazy(_NAME + r"(?:\[[\w,\-]{1,60}\])?==" + _VERSION)
_DIRECT = lazy(r"^\s{0,8}" + _NAME + r" @ \S{0,300}/[\w.]{1,80}-([0-9][\w.+]{0,60})-(?:py|cp)[\w.]{1,20}-")
_REPORT = lazy(
    r"^[\s\-*|]{0,6}`?(" + _KNOWN + r"|python|pytorch|neuron[ _-]?sdk)`?(?:[ _]version)?`?\s{0,20}(?:\([^()]{1,60}\))?"
    r"\s{0,20}(?:[:=|]|version:)\s{0,20}`?" + _DOTTED + r"`?(?:\s{0,4}\([^()]{0,60}\))?[\s|]{0,20}$",
    re.I,
)
_SHOW_NAME = lazy(r"^Name:\s{1,4}" + _NAME + r"\s{0,20}$")
_SHOW_VERSION = lazy(r"^Version:\s{1,4}" + _VERSION + r"\s{0,20}$")
_INDEX_HEAD = lazy(r"^" + _NAME + r" \(" + _VERSION + r"\)\s{0,20}$")
_INDEX_INSTALLED = lazy(r"^\s{0,6}INSTALLED:\s{1,8}" + _VERSION)
_JSON_ROW = lazy(r"\{\"name\":\s?\"([\w.\-]{1,80})\",\s?\"version\":\s?\"([\w.+!\-]{1,60})\"")


def _emit(line: Line, name: str, version: str) -> Iterator[Record]:
    lowered = name.lower()
    if lowered == "python":
        yield fact(line, "python.version", version)
    elif lowered.startswith("neuron") and lowered.endswith("sdk"):
        yield fact(line, "sdk.stated", version)
    elif lowered == "pytorch":
        yield fact(line, "pkg.torch", version)
    elif lowered != "neuron":  # a kernel module, a device or a resource, never a package
        yield fact(line, package_fact(name), version.lstrip("v"))


def _single(line: Line) -> Iterator[Record]:
    """Rows that stand alone, in a transcript or a list without its header."""
    text = line.body
    for pattern in (_FREEZE, _DIRECT, _BARE, _REPORT):
        found = pattern.match(text)
        if found:
            yield from _emit(line, found.group(1), found.group(2))
            return
    if '"version"' in text:
        for found in _JSON_ROW.finditer(text[:1_000_000]):
            yield from _emit(line, found.group(1), found.group(2))
        return
    if "==" not in text or len(text) > 20_000:
        return
    words = [word.strip("'\"[]()") for word in text.replace(",", " ").split()]
    pairs = [_PAIR.fullmatch(word) for word in words]
    if len(pairs) > 1 and all(pairs):
        for pair in pairs:
            if pair:
                yield from _emit(line, pair.group(1), pair.group(2))


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    table = False
    show = indexed = ""
    for line in lines:
        text = line.body
        if _TABLE.match(text) or _CONDA.match(text):
            table, show = True, ""
            continue
        if table:
            row = None if _RULE.match(text) else _ROW.match(text)
            if row:
                yield from _emit(line, row.group(1), row.group(2))
            table = bool(row or _RULE.match(text))
            if table:
                continue
        name, version = _SHOW_NAME.match(text), _SHOW_VERSION.match(text)
        head, installed = _INDEX_HEAD.match(text), _INDEX_INSTALLED.match(text)
        if name:
            show = name.group(1)
        elif version:
            if show:
                yield from _emit(line, show, version.group(1))
            show = ""
        elif head:
            indexed = head.group(1)
        elif installed:
            if indexed:
                yield from _emit(line, indexed, installed.group(1))
            indexed = ""
        else:
            yield from _single(line)


FORMAT = LineFormat(
    name="pip-list",
    kind="listing",
    triggers=(
        r"Package\s{1,90}Version",
        r"Name\s{1,60}Version\s{1,40}Build",
        r"(?i)neuron[a-z_\-]{0,30}`?(?: version)?`?(?:\s{1,90}|==|\s{0,20}[:|=]\s{0,20}`?)v?\d{1,8}\.",
        r"(?i)\b(?:" + _OTHERS + r")`?(?: version)?`?(?:\s{1,90}|==|\s{0,20}[:|=]\s{0,20}`?)v?\d{1,8}\.",
        r"(?i)neuron[ _-]?sdk`?\s{0,4}version",
        r"Name: [\w.\-]{1,80}",
        r"Py(?:Torch|thon) version: [0-9]",
        r"INSTALLED:\s{1,8}\d",
        r"\"version\":\s?\"\d",
    ),
    parse=_parse,
    before=8,
    after=250,
)
