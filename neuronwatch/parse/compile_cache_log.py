"""Lines of the wrappers that look up, compile and store graphs (`||NCC_WRAPPER||` of 2022, `||NEURON_CC_WRAPPER||` and
`||NEURON_CACHE||` since 2023, `[INFO]:` of 2026) and of neuron_parallel_compile.

Each becomes an Event `compile.start|done|failed|cached|cached_failure|waiting` {module, path, compiler_version} and a
reading (`cache.hit`, `cache.miss`, ...), since a log holds them far apart; `judge/derive` counts the readings. A compile
that starts is also a Sample `compile`, so that it can be set against the training steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Event, Fact, Record, Sample, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.prefix import line_time

MODULE = lazy(r"\bMODULE_(?P<id>[0-9A-Za-z]{1,40}(?:\+[0-9a-f]{4,16})?)")
COMPILER_DIR = lazy(r"\b(?:USER_)?neuronx?cc-(?P<version>\d{1,2}(?:\.\d{1,9}){1,4}(?:[ab]\d{1,4})?(?:\+[0-9a-f]{4,40})?)")
_PATH = r"(?P<path>(?:s3://|/|~/|\.{1,2}/)?[^\s'\",]{2,500})"

_STAMP = lazy(
    r"(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}):\s{1,4}(?:(?P<pid>\d{1,10})\s{1,4})?"
    r"(?:(?P<level>[A-Z]{4,8}) \|\|(?P<wrapper>[A-Z_]{4,30})\|\||\[(?P<bare>[A-Z]{4,8})\]):"
)


class _Kind(NamedTuple):
    event: str
    reading: str
    pattern: re.Pattern[str]


_KINDS = (
    _Kind("compile.cached_failure", "cache.cached_failure", re.compile(rf"\b[Gg]ot a cached failed neff at {_PATH}")),
    _Kind("compile.cached", "cache.hit", re.compile(rf"\bUsing a cached neff at {_PATH}")),
    _Kind("compile.start", "cache.miss", re.compile(r"\bCall compiler with cmd:")),
    _Kind("compile.start", "cache.miss", re.compile(rf"\bNo candidate found under {_PATH}")),
    _Kind("compile.failed", "cache.failed", re.compile(rf"\bCompilation failed for {_PATH} after \d{{1,4}} retr")),
    _Kind("compile.failed", "cache.failed", re.compile(r"\bFailed compilation with \[")),
    _Kind("compile.done", "cache.done", re.compile(rf"\bCompilation Successfully Completed for {_PATH}")),
    _Kind("compile.done", "cache.done", re.compile(r"\bCompiler status PASS\b")),
    _Kind("compile.failed", "cache.failed", re.compile(r"\bCompiler status (?:FAIL(?:ED)?|ERROR)\b")),
    _Kind("compile.waiting", "", re.compile(rf"\bAnother process must be compiling {_PATH}")),
)
_DIR = (
    lazy(rf"\bCompile cache path: {_PATH}"),
    re.compile(rf"\bCache dir for the neff: {_PATH}"),
)
_CACHE_ROOT = lazy(r"^(?P<root>.{1,400}?)/(?:USER_)?neuronx?cc-\d")
_WAITED = lazy(r"\bbeen waiting for: (?P<minutes>\d{1,7}(?:\.\d{1,6})?) minutes")
_TOTAL = lazy(r"\bTotal (?P<what>graphs|failed compilations): (?P<count>\d{1,9})\b")
_REMAINING = lazy(
    r"\bCurrent remaining items are (?P<remaining>\d{1,9}), locked are (?P<locked>\d{1,9}), "
    r"failed are (?P<failed>\d{1,9}), done are (?P<done>\d{1,9}), total is (?P<total>\d{1,9})"
)


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Events, readings and samples of all lines; several records may be glued into one line."""
    seen = _Seen(set(), set(), set())
    for line in lines:
        for piece, time in _pieces(line):
            yield from _piece(line, piece, time, seen)


class _Seen(NamedTuple):
    """What was told already in this call: modules that failed or were started, and facts that every line repeats."""

    failed: set[str]
    started: set[str]
    facts: set[tuple[str, str]]


def _pieces(line: Line) -> Iterator[tuple[str, float | None]]:
    found = list(_STAMP.finditer(line.text))
    first = found[0].start() if found else len(line.text)
    if not found or line.text[:first].strip(" ."):
        yield line.text[:first], line.time
    for index, stamp in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(line.text)
        own = line_time(line.text[stamp.start() : stamp.end()])
        yield line.text[stamp.start() : end], line.time if line.time is not None else own


def _piece(line: Line, text: str, time: float | None, seen: _Seen) -> Iterator[Record]:
    for kind in _KINDS:
        found = kind.pattern.search(text)
        if found is None:
            continue
        path = found.groupdict().get("path") or ""
        module_at = MODULE.search(path or text)
        module = f"MODULE_{module_at.group('id')}" if module_at else ""
        version_at = COMPILER_DIR.search(path)
        version = version_at.group("version") if version_at else ""
        fields: dict[str, Value] = {"module": module, "path": path.rstrip(".,"), "compiler_version": version}
        waited = _WAITED.search(text)
        if waited:
            fields["minutes"] = float(waited.group("minutes"))
            yield fact(line, "cache.waited", float(waited.group("minutes")))
        yield Event(kind.event, line.origin, fields, entity=line.entity, time=time)
        if version:
            yield from _once(line, "compiler.version", version, seen)
        root = _CACHE_ROOT.match(path)
        if root:
            yield from _once(line, "cache.dir", root.group("root"), seen)
        # The wrapper of 2026 says nothing when it starts.
        if kind.event == "compile.start" or (kind.event == "compile.done" and module and module not in seen.started):
            seen.started.add(module)
            yield Sample("compile", 1.0, line.origin, entity=line.entity, time=time)
        # One failure is told by two lines: `Failed compilation with [...]` and `Compilation failed for ... retries`.
        if kind.reading and not (kind.event == "compile.failed" and module in seen.failed):
            yield fact(line, kind.reading, module)
        if kind.event == "compile.failed" and module:
            seen.failed.add(module)
        break
    yield from _facts(line, text, seen)


def _once(line: Line, name: str, value: str, seen: _Seen) -> Iterator[Fact]:
    if (name, value) not in seen.facts:
        seen.facts.add((name, value))
        yield fact(line, name, value)


def _facts(line: Line, text: str, seen: _Seen) -> Iterator[Record]:
    for pattern in _DIR:
        found = pattern.search(text)
        if found:
            yield from _once(line, "cache.dir", found.group("path").rstrip("/"), seen)
    total = _TOTAL.search(text)
    if total:
        name = "cache.graphs" if total.group("what") == "graphs" else "cache.graphs_failed"
        yield fact(line, name, int(total.group("count")))
    remaining = _REMAINING.search(text)
    if remaining:
        counts: dict[str, Value] = {key: int(value) for key, value in remaining.groupdict().items()}
        yield Event("compile.progress", line.origin, counts, entity=line.entity, time=line.time)


FORMAT = LineFormat(
    name="compile-cache-log",
    kind="log",
    triggers=(
        r"\|\|(?:NCC_WRAPPER|NEURON_CACHE|NEURON_CC_WRAPPER|NEURON_PARALLEL_COMPILE)\|\|",
        r"Using a cached neff at",
        r"ot a cached failed neff at",
        r"Another process must be compiling",
        r"Compilation Successfully Completed for",
        r"Compiler status (?:PASS|FAIL|ERROR)",
        r"Call compiler with cmd:",
        r"Failed compilation with \[",
        r"Compilation failed for ",
        r"Compile cache path: ",
        r"No candidate found under ",
    ),
    parse=parse,
)
