"""Curves: points as dots of braille (2 by 4 in a cell), with axes; in ASCII three heights in a cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row, Span, cut, fitted, span

Point = tuple[float, float | None]
"""x and y; y None: it was told, and is no number (NaN, inf)."""
Label = Callable[[float], str]
HUGE = 1e300
"""What is above has no room on any scale: it is as good as infinite."""
LABELS = 8
"""Cells of the numbers at the left axis."""
MIDDLE = 7
"""Lines from which on the middle has a number too."""
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of the dots of a braille cell: column, row from the top."""
_HEIGHTS = ("'", "-", ".")


class Scale(NamedTuple):
    """What of the plane is shown. `log`: y is drawn by its logarithm."""

    left: float
    right: float
    low: float
    high: float
    log: bool

    def across(self, x: float, size: int) -> int:
        return (
            min(size - 1, max(0, round((x - self.left) / (self.right - self.left) * (size - 1)))) if self.right > self.left else 0
        )

    def down(self, y: float, size: int) -> int | None:
        """The line from the top; None: a logarithm of it does not exist."""
        if self.log and y <= 0:
            return None
        value = math.log10(y) if self.log else y
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return size - 1 - min(size - 1, max(0, round(share * (size - 1))))

    def value(self, share: float) -> float:
        value = self.low + share * (self.high - self.low)
        return float(10 ** min(300.0, value)) if self.log else value


def short(value: float) -> str:
    """A number at an axis, in at most eight characters: `2.31`, `0.0002`, `1.2e-05`, `12.3k`."""
    if abs(value) >= 9.99e14 or 0 < abs(value) < 1e-98:
        return f"{value:.0e}"
    for limit, name, size in ((9.99e11, "T", 1e12), (9.99e8, "G", 1e9), (9.99e5, "M", 1e6), (1e4, "k", 1e3)):
        if abs(value) >= limit:
            return f"{value / size:.3g}{name}"
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.3g}"


def scale_of(runs: Sequence[Sequence[Point]], log: bool, floor: float | None = None, ceiling: float | None = None) -> Scale | None:
    """The room that all points need; None: there is no number among them. `floor`, `ceiling`: y is shown from there and up to
    there at least."""
    across = [x for run in runs for x, _ in run]
    values = [y for run in runs for _, y in run if y is not None and (y > 0 or not log)]
    if not values:
        return None
    if log:
        low, high = math.log10(min(values)), math.log10(max(values))
    else:
        low, high = (
            min([*values, floor] if floor is not None else values),
            max([*values, ceiling] if ceiling is not None else values),
        )
    if high - low < 1e-12 * max(1.0, abs(high)):
        room = 0.5 if log else abs(high) * 0.05 or 1.0
        low, high = (low, high + room) if floor is not None and not log else (low - room, high + room)
    return Scale(min(across), max(across), low, high, log)


def curve(
    runs: Sequence[Sequence[Point]],
    width: int,
    height: int,
    glyphs: Glyphs,
    log: bool = False,
    floor: float | None = None,
    ceiling: float | None = None,
    y_label: Label = short,
    x_label: Label = short,
) -> list[Row]:
    """At most `height` rows of `width` cells (one less where no row is the middle): the last run in front of the earlier ones,
    numbers at both axes. A point that is no number is a mark in the first row."""
    runs = [[(x, y if y is None or abs(y) < HUGE else None) for x, y in run] for run in runs]
    scale = scale_of(runs, log, floor, ceiling)
    room, lines = width - LABELS - 1, height - 1
    if scale is None or room < 4 or lines < 1:
        return [(Span(cut("no number has been told yet", width, glyphs.more), "dim"),)]
    if lines >= MIDDLE and lines % 2 == 0:
        lines -= 1  # the label in the middle says the half of the ends
    cells = _cells(runs, scale, room, lines, glyphs)
    rows: list[Row] = []
    for line in range(lines):
        share = 1.0 - line / (lines - 1) if lines > 1 else 1.0
        shown = line in (0, lines - 1) or (lines >= MIDDLE and line == lines // 2)
        text = y_label(scale.value(share)) if shown else ""
        rows.append((span(fitted(text, LABELS, right=True), "dim"), Span(glyphs.bar, "rule"), *_joined(cells[line])))
    left, right = x_label(scale.left), x_label(scale.right)
    gap = max(1, room - len(left) - len(right))
    rows.append((Span(" " * LABELS), Span("+" if glyphs.bar == "|" else glyphs.branch, "rule"), span(left, "dim"),
                 Span(" " + glyphs.rule * (gap - 2) + " " if gap > 2 else " " * gap, "rule"), span(right, "dim")))  # fmt: skip
    return rows


def _cells(runs: Sequence[Sequence[Point]], scale: Scale, room: int, lines: int, glyphs: Glyphs) -> list[list[tuple[str, str]]]:
    """Each cell as (character, style)."""
    across, down = (2, 4) if glyphs.braille else (1, 3)
    bits = [[0] * room for _ in range(lines)]
    last = [[False] * room for _ in range(lines)]
    marks: set[int] = set()
    for number, run in enumerate(runs):
        newest = number == len(runs) - 1
        before: tuple[int, int] | None = None
        for x, y in run:
            column = scale.across(x, room * across)
            place = scale.down(y, lines * down) if y is not None else None
            if y is None:
                marks.add(column // across)
            if place is None:
                before = None
                continue
            for dot, height in _between(before, (column, place)):
                cell, bit = dot // across, _DOTS[dot % 2][height % 4] if glyphs.braille else 1 << height % 3
                bits[height // down][cell] |= bit
                last[height // down][cell] |= newest
            before = (column, place)
    found = []
    for line in range(lines):
        cells = [(_sign(bits[line][cell], glyphs), "spark" if last[line][cell] else "dim") for cell in range(room)]
        if line == 0:
            cells = [(glyphs.fault, "error") if cell in marks else sign for cell, sign in enumerate(cells)]
        found.append(cells)
    return found


def _between(before: tuple[int, int] | None, now: tuple[int, int]) -> list[tuple[int, int]]:
    """The dots of a line from one point to the next, the first one excluded."""
    if before is None:
        return [now]
    steps = max(abs(now[0] - before[0]), abs(now[1] - before[1]))
    return [(before[0] + round((now[0] - before[0]) * step / steps), before[1] + round((now[1] - before[1]) * step / steps))
            for step in range(1, steps + 1)] or [now]  # fmt: skip


def _sign(bits: int, glyphs: Glyphs) -> str:
    if not bits:
        return " "
    if glyphs.braille:
        return chr(0x2800 + bits)
    found = [sign for place, sign in enumerate(_HEIGHTS) if bits & 1 << place]
    return found[0] if len(found) == 1 else ":" if bits != 7 else "|"


def _joined(cells: Sequence[tuple[str, str]]) -> list[Span]:
    """Neighbours of one style as one span."""
    found: list[Span] = []
    for sign, style in cells:
        if found and found[-1].style == style:
            found[-1] = Span(found[-1].text + sign, style)
        else:
            found.append(Span(sign, style))
    return found
