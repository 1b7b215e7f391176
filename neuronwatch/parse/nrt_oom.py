"""Failed allocations of device memory as libnrt reports them, in three generations.

1. `Failed to alloc DEVICE memory: 1272` alone (all releases);
2. until 2.23 `Failed to allocate 512.000MB (usage: tensors) on ND 0:NC 0, current utilization:` with a bullet a kind;
3. since 2.24 the same line with an alignment, then a table with a column a kind and rows for device, core and NEFF.

Sizes are bytes. Of a table the row of the failing core is taken, else that of the HBM or device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Event, Fact, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._nrt import HEADER
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.units import size

_FAILED = lazy(
    r"\bFailed to allocate (?P<size>\d{1,12}(?:\.\d{1,6})?\s?[KMGT]?i?B) "
    r"\((?:alignment: [^,)]{1,40}, )?usage: (?P<usage>[^)]{1,60})\) on ND ?(?P<nd>\d{1,3}):NC ?(?P<nc>\d{1,3})"
)
_BARE = (
    lazy(r"\bFailed to alloc DEVICE memory: (?P<bytes>\d{1,18})\b"),
    re.compile(r"\bFailed to allocate (?P<bytes>\d{1,18}) bytes on DEVICE for tensor\b"),
    re.compile(r"\bFailed to allocate DEVICE memory \((?P<bytes>\d{1,18}) bytes\)"),
)
_TMPBUF = lazy(r"\bTMPBUF pages requested exceeded .{0,80}\(requested: (?P<asked>\d{1,9}), max allowed: (?P<max>\d{1,9})\)")
_BULLET = lazy(r"\*\s{1,4}(?P<kind>[A-Za-z][A-Za-z /]{2,40}):\s{1,8}(?P<size>\d{1,12}(?:\.\d{1,6})?\s?[KMGT]?i?B)\b")
_ROW = lazy(r"(?:ND ?(?P<nd>\d{1,3}) (?P<scope>Overall|HBM ?\d{1,2})|\\_ ?NC ?(?P<nc>\d{1,3}))\s{0,16}\|(?P<cells>[^\n]{3,600})")
_COLUMNS = (
    "total", "model code", "model constants", "tensors", "shared scratchpad", "scratchpad", "runtime", "dma rings io",
    "dma rings spill", "dma rings collectives", "dma rings runtime", "collectives", "xt cc", "profiler buffers",
)  # fmt: skip
_FACTS = {
    "total": "runtime.oom_total",
    "tensors": "runtime.oom_tensors",
    "model code": "runtime.oom_model_code",
    "model constants": "runtime.oom_constants",
    "runtime": "runtime.oom_runtime",
}


@dataclass
class _Failure:
    """One failed allocation and what was in use then."""

    line: Line
    asked: int
    usage: str = ""
    nd: str = ""
    nc: str = ""
    used: dict[str, tuple[int, Line]] = field(default_factory=dict)
    of_core: bool = False


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """An Event `nrt.oom` and facts `runtime.oom_*` for each failed allocation. Ranks that a prefix tells apart are read
    one by one, since their breakdowns are interleaved."""
    by_rank: dict[int | None, list[Line]] = {}
    for line in lines:
        by_rank.setdefault(line.rank, []).append(line)
    for own in by_rank.values():
        yield from _of_one_writer(own)


def _of_one_writer(lines: Sequence[Line]) -> Iterator[Record]:
    failures: list[_Failure] = []
    heading: list[list[str]] = []
    columns: Sequence[str] = _COLUMNS
    for line in lines:
        text = line.body
        yield from _tmpbuf(line)
        _collect_failure(failures, line)
        if text.lstrip().startswith("|"):
            cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
            if heading or "TOTAL" in cells:
                heading.append(cells)
            elif any(cell in ("Model", "DMA Rings", "Shared") for cell in cells):
                heading = [cells]
        row = _ROW.search(text)
        if row:
            if heading:
                columns = _joined(heading)
                heading = []
            _collect_row(failures, line, row, columns)
        else:
            for bullet in _BULLET.finditer(text):
                _collect_bullet(failures, line, bullet)
    for failure in failures:
        yield from _records(failure)


def _joined(heading: Sequence[Sequence[str]]) -> list[str]:
    """Names of the columns from the two lines of the heading, in lower case."""
    width = max(len(cells) for cells in heading)
    rows = [[*cells, *[""] * (width - len(cells))] for cells in heading]
    names = [" ".join(part for part in column if part).lower() for column in zip(*rows, strict=True)]
    # Where the upper line of the heading was lost, `Code` and `Constants` stand for the model's.
    return [{"code": "model code", "constants": "model constants"}.get(name, name) for name in names]


def _tmpbuf(line: Line) -> Iterator[Record]:
    found = _TMPBUF.search(line.body)
    if found:
        yield fact(line, "runtime.oom_tmpbuf", int(found.group("asked")))
        fields: dict[str, Value] = {"usage": "tmpbuf", "pages": int(found.group("asked")), "limit": int(found.group("max"))}
        yield Event("nrt.oom", line.origin, fields, entity=line.entity, time=line.time)


def _collect_failure(failures: list[_Failure], line: Line) -> None:
    # Several ranks can glue their records into one line.
    for found in _FAILED.finditer(line.body):
        asked = size(found.group("size")) or 0
        last = failures[-1] if failures else None
        if last and not last.usage and not last.used and abs(last.asked - asked) <= max(1024, asked // 500):
            last.usage, last.nd, last.nc = found.group("usage").strip(), found.group("nd"), found.group("nc")
            continue
        failures.append(_Failure(line, asked, found.group("usage").strip(), found.group("nd"), found.group("nc")))
    for pattern in _BARE:
        for found in pattern.finditer(line.body):
            asked = int(found.group("bytes"))
            # The same failure is told before and after its breakdown.
            if not any(abs(old.asked - asked) <= max(1024, asked // 500) for old in failures[-4:]):
                failures.append(_Failure(line, asked))


def _collect_row(failures: list[_Failure], line: Line, row: re.Match[str], columns: Sequence[str]) -> None:
    if not failures:
        failures.append(_Failure(line, 0))
    failure = failures[-1]
    core = row.group("nc")
    if failure.of_core or (core is not None and failure.nc and core != failure.nc):
        return
    if core is None and failure.used:
        return
    cells = [size(cell) if cell.strip() not in ("", "n/a") else None for cell in row.group("cells").split("|")]
    used = {name: (value, line) for name, value in zip(columns, cells, strict=False) if value is not None and name}
    if used:
        failure.used = used
        failure.of_core = core is not None and core == failure.nc


def _collect_bullet(failures: list[_Failure], line: Line, bullet: re.Match[str]) -> None:
    value = size(bullet.group("size"))
    kind = " ".join(bullet.group("kind").lower().split())
    if value is None or kind not in (*_COLUMNS, "dma rings"):
        return
    if not failures:
        failures.append(_Failure(line, 0))
    failures[-1].used.setdefault(kind, (value, line))


def _records(failure: _Failure) -> Iterator[Record]:
    line = failure.line
    entity = f"nd{int(failure.nd)}:nc{int(failure.nc)}" if failure.nd else line.entity
    if failure.asked:
        yield Fact("runtime.oom_bytes", failure.asked, line.origin, entity)
    if failure.usage:
        yield Fact("runtime.oom_usage", failure.usage, line.origin, entity)
        yield Fact("runtime.oom_entity", entity, line.origin, entity)
    for kind, name in _FACTS.items():
        if kind in failure.used:
            value, at = failure.used[kind]
            yield Fact(name, value, at.origin, entity)
    for prefix, name in (("dma rings", "runtime.oom_dma_rings"), ("scratchpad", "runtime.oom_scratchpad")):
        parts = [item for kind, item in failure.used.items() if prefix in kind]
        if parts:
            yield Fact(name, sum(value for value, _ in parts), parts[0][1].origin, entity)
    fields: dict[str, Value] = {kind.replace(" ", "_"): value for kind, (value, _) in failure.used.items()}
    fields.update(bytes=failure.asked, usage=failure.usage)
    stamp = HEADER.search(line.text)
    yield Event("nrt.oom", line.origin, fields, entity=entity, time=line.time if stamp else None)


FORMAT = LineFormat(
    name="nrt-oom",
    kind="log",
    triggers=(
        r"Failed to alloc(?:ate)? [^\n]{0,80}(?:DEVICE|usage: )",
        r"TMPBUF pages requested exceeded",
        r"Displaying Current Memory Utilization",
        r"\* (?:total|tensors|model code|shared scratchpad|dma rings): {1,8}\d",
        r"ND ?\d{1,3} (?:Overall|HBM ?\d)\s{0,16}\|",
        r"\\_ ?NC ?\d{1,3}\s{1,16}\|",
    ),
    parse=parse,
    before=2,
    after=24,
)
