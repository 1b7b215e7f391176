"""Tables of load tests: rows of concurrency and latency, as benchmark scripts print them (blanks, `|` or commas between
the cells), and the timing that a text-generation router states for each request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

_LOAD = r"(?:concurrency|concurrent(?:[ _](?:requests|clients|users))?|clients|users|vus|num[_ ]clients|threads|in[- _]?flight)"
_LATENCY = r"(?:p50|p90|p95|p99|latency|avg|mean|median|response[ _]time)"
_HEADER = lazy(rf"(?i)^[\s|,]{{0,12}}{_LOAD}\b.{{0,120}}\b{_LATENCY}")
_CELL = lazy(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_SPLIT = lazy(r"\s{2,}|\s?[|,\t]\s?")
_NUMBER = lazy(r"^([0-9]{1,9}(?:\.[0-9]{1,6})?)\s?(?:s|ms|sec|us|tok\S{0,8})?$")
_QUEUE = lazy(r"\bqueue_time=\"([0-9]{1,7}(?:\.[0-9]{1,9})?)s\".{0,80}?\binference_time=\"([0-9]{1,7}(?:\.[0-9]{1,9})?)(m?)s\"")
_IS_LATENCY = lazy(rf"(?i)\b{_LATENCY}")
SPREAD = 4
"""Times that the highest concurrency of a table must be of the lowest, so that the growth says something."""


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in _SPLIT.split(text.strip().strip("|").strip()) if cell.strip()]


def _rows(lines: Sequence[Line]) -> Iterator[tuple[Line, list[tuple[float, float]]]]:
    """For each header its rows as (concurrency, latency of the first latency column)."""
    header: Line | None = None
    column = 0
    rows: list[tuple[float, float]] = []
    for line in lines:
        if _HEADER.match(line.body):
            if header is not None:
                yield header, rows
            names = _cells(line.body)
            column = next((index for index, name in enumerate(names) if index and _IS_LATENCY.search(name)), 0)
            header, rows = (line, []) if column else (None, [])
            continue
        if header is None:
            continue
        cells = _cells(line.body)
        load = _NUMBER.match(cells[0]) if cells else None
        latency = _NUMBER.match(cells[column]) if column < len(cells) else None
        if load and latency:
            rows.append((float(load.group(1)), float(latency.group(1))))
        elif _CELL.search(line.body) and rows:
            yield header, rows
            header = None
    if header is not None:
        yield header, rows


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for header, rows in _rows(lines):
        rows = [row for row in rows if row[0] >= 1 and row[1] > 0]
        if len(rows) < 2:
            continue
        low, high = min(rows), max(rows)
        if high[0] >= SPREAD * low[0]:
            growth = (high[1] / low[1] - 1) / (high[0] / low[0] - 1)
            yield fact(header, "serve.latency_growth", round(growth, 3))
    for line in lines:
        found = _QUEUE.search(line.body)
        if found:
            inference = float(found.group(2)) / (1000 if found.group(3) else 1)
            yield fact(line, "serve.queue_share", round(float(found.group(1)) / max(inference, 1e-3), 2))


FORMAT = LineFormat(
    name="load-test",
    kind="metrics",
    triggers=(
        rf"(?i)\b{_LOAD}\b.{{0,120}}\b{_LATENCY}",
        r"queue_time=\"[0-9]{1,7}(?:\.[0-9]{1,9})?s\"",
    ),
    parse=_parse,
    after=40,
)
