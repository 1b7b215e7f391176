"""ASCII tables with `|` between cells and headings in capitals, as neuron-ls draws them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Line

MAX_FOREIGN = 3
"""Lines of other writers that may stand between two lines of one table."""

_RULE = lazy(r"\s{0,40}\+[-=+]{3,}\s{0,8}$")
_HEADING = lazy(r"[A-Z][A-Z0-9 /%]{0,30}")


class Row(NamedTuple):
    """One row: the line and its cells by heading, stripped; cut cells are missing."""

    line: Line
    cells: dict[str, str]


@dataclass
class Table:
    """`headings` in order (words of several heading lines joined by a blank); `line` is the first heading line.
    `closed` says that a rule stands after the last row, so that no row is missing at the end."""

    line: Line
    headings: list[str]
    rows: list[Row] = field(default_factory=list)
    closed: bool = False


def tables(lines: Sequence[Line]) -> Iterator[Table]:
    """Every table with headings in `lines`. Tables may follow each other without a gap, be cut at any line or column,
    and have foreign lines in between; rows before the first heading are not returned (see `loose_rows`)."""
    table: Table | None = None
    bars: list[int] = []
    in_heading = False
    foreign = 0
    for line in lines:
        body = line.body.rstrip()
        if _RULE.match(body):
            if table is not None:
                table.closed = bool(table.rows)
            in_heading = False
            foreign = 0
            continue
        if not body.lstrip().startswith("|"):
            foreign += 1
            if table is not None and foreign > MAX_FOREIGN:
                yield table
                table = None
            continue
        foreign = 0
        cells = _cells(body)
        if _is_heading(cells, 1 if in_heading else 2):
            if not in_heading or table is None:
                if table is not None:
                    yield table
                table = Table(line, cells)
                bars = [index for index, char in enumerate(body) if char == "|"]
                in_heading = True
            else:
                table.headings = _joined(table.headings, cells)
            continue
        in_heading = False
        if table is not None:
            table.closed = False
            table.rows.append(Row(line, _by_heading(body, table.headings, bars)))
    if table is not None:
        yield table


def loose_rows(lines: Sequence[Line]) -> Iterator[tuple[Line, list[str]]]:
    """The cells of every row that is not a heading, for tables whose head is cut off."""
    for line in lines:
        body = line.body.strip()
        if body.startswith("|") and not _is_heading(_cells(body)):
            yield line, _cells(body)


def _cells(body: str) -> list[str]:
    cells = [cell.strip() for cell in body.strip().strip("|").split("|")]
    return cells


def _is_heading(cells: Sequence[str], least: int = 2) -> bool:
    named = [cell for cell in cells if cell]
    return len(named) >= least and set(named) != {"NA"} and all(_HEADING.fullmatch(cell) for cell in named)


def _joined(first: Sequence[str], second: Sequence[str]) -> list[str]:
    width = max(len(first), len(second))
    upper = [*first, *[""] * (width - len(first))]
    lower = [*second, *[""] * (width - len(second))]
    return [f"{a} {b}".strip() for a, b in zip(upper, lower, strict=True)]


def _by_heading(body: str, headings: Sequence[str], bars: Sequence[int]) -> dict[str, str]:
    # A command may hold a `|`: where the bars of the heading stand in the row too, they are the borders.
    if len(bars) > len(headings) and all(index < len(body) and body[index] == "|" for index in bars):
        cells = [body[start + 1 : end].strip() for start, end in itertools.pairwise(bars)]
    else:
        cells = _cells(body)
    return {heading: cell for heading, cell in zip(headings, cells, strict=False) if heading}
