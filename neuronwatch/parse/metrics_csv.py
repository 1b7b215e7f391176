"""Metrics as comma-separated values with a header: metrics.csv of Lightning, exports of trackers, own tables of step times
by rank or of resident memory by time. The header must name a step, epoch or time and at least one known series."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._text import document_lines, to_float
from neuronwatch.parse.api import Document, FileFormat, Line
from neuronwatch.parse.prefix import line_time
from neuronwatch.parse.trainer_dicts import SERIES

MAX_ROWS = 200_000
_PLACES = ("step", "global_step", "iteration", "iter", "epoch")
_TIMES = ("time", "timestamp", "ts", "date", "datetime", "wall_time")
_SCALE = {"kb": 1024.0, "kib": 1024.0, "mb": 1024.0**2, "mib": 1024.0**2, "gb": 1024.0**3, "gib": 1024.0**3, "bytes": 1.0}
_MEMORY = ("rss", "mem_used", "memory_used", "host_memory", "host_mem", "used_memory", "cpu_mem", "cpu_memory")
_MORE: Mapping[str, tuple[str, str]] = {
    "train_loss_step": ("loss", ""),
    "train_loss_epoch": ("loss", ""),
    "reduced_train_loss": ("loss", ""),
    "step_time_sec": ("step_time", "s"),
    "train_step_timing in s": ("step_time", "s"),
    "iteration_time": ("step_time", "s"),
    "compute_s": ("compute_time", "s"),
    "compute_time": ("compute_time", "s"),
    "compute_time_s": ("compute_time", "s"),
    "fwd_bwd_s": ("compute_time", "s"),
    "tokens/s": ("tokens_per_s", "tokens/s"),
    "tokens_per_s": ("tokens_per_s", "tokens/s"),
}


def _column(name: str) -> tuple[str, str, float] | None:
    """(series, unit, factor) of a column, None where it is no known series."""
    known = SERIES.get(name) or _MORE.get(name)
    if known:
        return known[0], known[1], 1.0
    stem, _, unit = name.rpartition("_")
    return ("host_memory", "bytes", _SCALE[unit]) if stem in _MEMORY and unit in _SCALE else None


def _header(text: str) -> list[str]:
    cells = [cell.strip().strip('"').lower() for cell in text.lstrip("\ufeff").split(",")]
    return cells if 2 <= len(cells) <= 200 else []


def _sniff(document: Document) -> float:
    head = document.data[:65_536].decode("utf-8", "replace").split("\n", 2)
    if len(head) < 2:
        return 0.0
    names = _header(head[0].strip())
    if not any(name in _PLACES or name in _TIMES for name in names) or not any(_column(name) for name in names):
        return 0.0
    return 0.9 if head[1].count(",") == head[0].count(",") else 0.0


def _cells(line: Line) -> Sequence[str]:
    import csv

    try:
        return next(csv.reader(io.StringIO(line.text)), [])
    except csv.Error:
        return []


def _index(row: Mapping[str, str]) -> float | None:
    return next((number for name in _PLACES if (number := to_float(row.get(name, ""))) is not None), None)


def _moment(row: Mapping[str, str]) -> float | None:
    text = next((row[name] for name in _TIMES if row.get(name)), "")
    return line_time(text) or to_float(text)


def _entity(row: Mapping[str, str]) -> str:
    for name, kind in (("rank", "rank"), ("global_rank", "rank"), ("pid", "pid")):
        if row.get(name, "").strip().isdecimal():
            return f"{kind}{int(row[name])}"
    return ""


def _parse(document: Document) -> Iterator[Record]:
    lines = document_lines(document)
    if not lines:
        return
    names = _header(lines[0].text)
    columns = {name: column for name in names if (column := _column(name))}
    for line in lines[1:MAX_ROWS]:
        cells = _cells(line)
        if len(cells) != len(names):
            continue
        row = dict(zip(names, cells, strict=True))
        moment, index, entity = _moment(row), _index(row), _entity(row)
        seen: set[str] = set()
        for name, (series, unit, factor) in columns.items():
            value = to_float(row[name].strip())
            if value is not None and series not in seen:
                seen.add(series)
                place = None if series == "host_memory" else index
                yield Sample(series, value * factor, line.origin, unit, entity, moment, place)


FORMAT = FileFormat(name="metrics-csv", kind="metrics", sniff=_sniff, parse=_parse)
