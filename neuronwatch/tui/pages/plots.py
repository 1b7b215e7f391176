"""Several curves of a job side by side, each with its name, its newest number and the age of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.curve import curve, short
from neuronwatch.tui.draw.row import Row, Span, clipped, row, span
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.view.jobs import OLD, Curve

LEAST = 6
"""Rows of a plot with its title below which a curve says nothing."""
NARROW = 44
TALL = 16
"""Rows above which a second line of plots tells more than taller ones."""


class Plot(NamedTuple):
    """`show` writes a number of the curve; `floor`, `ceiling`: y is shown from there and up to there at
    least, where the curve's own ends would mislead."""

    curve: Curve
    title: str
    show: Callable[[float], str] = short
    floor: float | None = None
    log: bool = False
    ceiling: float | None = None


def grid(plots: Sequence[Plot], now: float, frame: Frame, room: int) -> list[Row]:
    """As many of the plots as `room` rows take, in the order of their weight; the last row says how many are left out."""
    if not plots or room < 3:
        return []
    across = max(1, min(len(plots), 3, frame.width // NARROW))
    lines = -(-len(plots) // across)
    while lines > 1 and room // lines < LEAST:
        lines -= 1
    lines = max(lines, min(len(plots), room // TALL))
    shown = list(plots[: lines * across])
    across = -(-len(shown) // lines)
    lines = -(-len(shown) // across)
    left = len(plots) - len(shown)
    if left:
        room -= 1
    rows: list[Row] = []
    for line in range(lines):
        height = room // lines + (1 if line < room % lines else 0)
        part = shown[line * across : (line + 1) * across]
        width = frame.width // len(part)
        drawn = [_plot(plot, width - 1, height, now, frame) for plot in part]
        for place in range(height):
            spans: list[Span] = []
            for one in drawn:
                spans += clipped(one[place] if place < len(one) else (), width)
            rows.append(clipped(tuple(spans), frame.width))
    if left:
        names = ", ".join(plot.title for plot in plots[len(shown) :])
        rows.append(row(span(f"  {frame.glyphs.more} {left} more in a larger terminal: {names}", "dim")))
    return rows


def _plot(plot: Plot, width: int, height: int, now: float, frame: Frame) -> list[Row]:
    item = plot.curve
    old = item.age is not None and item.age > OLD
    value = plot.show(item.value) if item.value is not None else f"{frame.glyphs.fault} no number"
    style = "error" if item.value is None else "stale" if old else "value"
    spans = [span(f" {plot.title} ", "title"), span(value + (frame.glyphs.stale if old else ""), style)]
    spans.append(span(f"  {units.span(item.age)} ago" if item.age is not None else "  age not known", "stale" if old else "dim"))
    if len(item.runs) > 1:
        spans.append(span(f"  {len(item.runs)} runs", "warning"))
    if plot.log:
        spans.append(Span("  log", "info"))

    def across(x: float) -> str:
        if item.axis == "time":
            return f"{units.span(now - x)} ago"
        return f"{item.axis} {x:.0f}" if item.axis != "epoch" else f"epoch {x:.2f}"

    floor, ceiling = (None, None) if plot.log else (plot.floor, plot.ceiling)
    return [tuple(spans), *curve(item.runs, width, height - 1, frame.glyphs, plot.log, floor, ceiling, plot.show, across)]
