"""What led up to now, where the overview has room left: curves side by side, drawn anew only each few seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.curve import Label, curve, short
from neuronwatch.tui.draw.row import Row, Span, clipped, row, span
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.pages.words import heading
from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.picture import Picture

LEAST, TALL = 6, 18
"""Rows below which a curve says nothing, and above which a second line of curves tells more than a taller one."""
NARROW = 44
EVERY = 5.0
"""Seconds for which a curve stands still, and which one point of it tells of."""


class Drawn(NamedTuple):
    """`more`: what stands dim behind the title; `ceiling`: y is shown up to there at least."""

    title: str
    more: str
    runs: list[list[tuple[float, float | None]]]
    axis: str
    show: Label = short
    floor: float | None = None
    ceiling: float | None = None


class History:
    def __init__(self) -> None:
        self._key: object = None
        self._rows: list[Row] = []

    def rows(self, picture: Picture, frame: Frame, room: int) -> list[Row]:
        """At most `room` rows; none where there is too little room or nothing to tell."""
        if room < LEAST:
            return []
        key = (id(picture), int(picture.now // EVERY), frame, room, picture.taken.get("jobs"), len(picture.trails))
        if key != self._key:
            self._key, self._rows = key, _rows(picture, frame, room)
        return self._rows


def _rows(picture: Picture, frame: Frame, room: int) -> list[Row]:
    across = max(1, frame.width // NARROW)
    lines = max(1, (room - 1) // TALL)
    shown = list(_curves(picture))[: across * lines]
    if not shown:
        return []
    across = min(across, -(-len(shown) // lines))
    lines = -(-len(shown) // across)
    rows = [heading("History", frame)]
    for line in range(lines):
        height = (room - 1) // lines + (1 if line < (room - 1) % lines else 0)
        part = shown[line * across : (line + 1) * across]
        width = frame.width // across
        drawn = [_one(item, width - 1, height, picture.now // EVERY * EVERY, frame) for item in part]
        for place in range(height):
            spans = [span for one in drawn for span in clipped(one[place] if place < len(one) else (), width)]
            rows.append(clipped(tuple(spans), frame.width))
    return rows


def _one(item: Drawn, width: int, height: int, now: float, frame: Frame) -> list[Row]:
    def across(x: float) -> str:
        if item.axis == "time":
            ago = max(0.0, now - x)
            return f"{units.span(ago)} ago" if ago > EVERY else "now"
        return f"epoch {x:.2f}" if item.axis == "epoch" else f"{item.axis} {x:.0f}"

    head = row(Span(f" {item.title}", "title"), span(f"  {item.more}", "dim"))
    return [head, *curve(item.runs, width, height - 1, frame.glyphs, False, item.floor, item.ceiling, item.show, across)]


def _curves(picture: Picture) -> Iterable[Drawn]:
    """By their weight: the cores, the newest runs, the host."""
    yield from _trail(picture, "core.utilization", "Cores", "mean utilisation", units.percent, 100.0)
    for job in picture.jobs[:2]:
        for name, word, show in (
            ("loss", "loss", short),
            ("running", "running requests", short),
            ("tokens_per_s", "tokens/s", units.count),
        ):
            found = view.curve_of(picture, job, name)
            if found is not None:
                yield Drawn(str(job["name"]), word, found.runs, found.axis, show, None if name == "loss" else 0.0)
                break
    yield from _trail(picture, "host.cpu", "Host", "CPU", units.percent, 100.0)
    yield from _trail(picture, "host.network.receive", "Host", "received per second", units.size, 1024.0)
    yield from _trail(picture, "host.memory.used", "Host", "memory", units.size, None)


def _trail(picture: Picture, metric: str, title: str, more: str, show: Label, ceiling: float | None) -> Iterable[Drawn]:
    points = _binned(picture.trail(metric))
    if len(points) > 1:
        yield Drawn(title, more, [points], "time", show, 0.0, ceiling)


def _binned(points: Iterable[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Means of EVERY seconds, whole ones only: what has been drawn does not change. Gaps stay gaps."""
    found: dict[int, list[float]] = {}
    last = 0
    for time, value in points:
        last = int(time // EVERY)
        if value is not None:
            found.setdefault(last, []).append(value)
    return [(place * EVERY, sum(values) / len(values)) for place, values in found.items() if place < last or len(found) == 1]
