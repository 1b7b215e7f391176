"""Host memory: `free` in its old and new layouts and units, and `vmstat` or `iostat` waiting time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact, parse_size
from neuronwatch.parse.api import Line, LineFormat

_HEADER = lazy(r"^\s{2,40}total\s{1,20}used\s{1,20}free")
_ROW = lazy(r"^\s{0,4}(Mem|Swap):\s{1,40}(\S.{0,200})$")
_INLINE = lazy(r"\b(total|used|free|available|shared|buff/cache)[ :=]{1,3}([0-9.,]{1,18}\s?[KMGT]?i?B?)\b")
_COMMAND = lazy(r"\bfree\b(?:\s{1,4}-([a-z]{1,6})|\s{1,4}--(\w{2,6}))?")
_UNITS = {"b": "", "k": "K", "m": "M", "g": "G", "h": "K", "bytes": "", "kibi": "K", "mebi": "M", "gibi": "G"}
_AVG_CPU = lazy(r"^\s{0,4}avg-cpu:\s{1,20}%user")


def _unit(command: str) -> str:
    found = _COMMAND.search(command)
    if not found:
        return "K"
    for letter in found.group(1) or "":
        if letter in _UNITS:
            return _UNITS[letter]
    return _UNITS.get(found.group(2) or "", "K")


def _guessed(lines: Sequence[Line]) -> str:
    """The unit of a table whose command was not kept: no host of this kind has less than 2 GiB, so small totals are
    those of `free -g` and `free -m`."""
    for line in lines:
        row = _ROW.match(line.body)
        total = re.match(r"[0-9]{1,15}\b(?![.,\w])", row.group(2)) if row and row.group(1) == "Mem" else None
        if total:
            number = int(total.group())
            return "G" if number < 2 * 1024 else "M" if number < 2 * 1024**2 else "K"
    return "K"


def _memory(line: Line, unit: str, columns: Sequence[str]) -> Iterator[Record]:
    row = _ROW.match(line.body)
    if not row:
        return
    name, rest = row.group(1), row.group(2)
    inline = {key: parse_size(value.replace(" ", ""), unit) for key, value in _INLINE.findall(rest)}
    if inline:
        values = inline
    else:
        cells = rest.split()
        values = {key: parse_size(cell, unit) for key, cell in zip(columns, cells, strict=False)}
    total, available = values.get("total"), values.get("available")
    if name == "Swap":
        if total is not None:
            yield fact(line, "host.swap_total", total)
        return
    if total:
        yield fact(line, "host.memory_total", total)
    if available is not None:
        yield fact(line, "host.memory_available", available)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    unit = ""
    for block in blocks(lines):
        if re.search(r"(?:^|\s)free\b", block.command):
            unit = _unit(block.command)
    unit = unit or _guessed(lines)
    columns: Sequence[str] = ("total", "used", "free", "shared", "buff/cache", "available")
    iostat = False
    for line in lines:
        if _HEADER.match(line.body):
            columns = line.body.split()
            continue
        if iostat:
            iostat = False
            cells = line.body.split()
            if len(cells) == 6 and all(re.fullmatch(r"[0-9.]{1,8}", cell) for cell in cells):
                yield fact(line, "host.iowait", float(cells[3]))
            continue
        iostat = bool(_AVG_CPU.match(line.body))
        yield from _memory(line, unit, columns)


FORMAT = LineFormat(
    name="free",
    kind="listing",
    triggers=(r"Mem:\s{1,40}(?:total )?[0-9]", r"Swap:\s{1,40}(?:total )?[0-9]", r"avg-cpu:\s{1,20}%user"),
    parse=_parse,
    before=2,
    after=2,
)
