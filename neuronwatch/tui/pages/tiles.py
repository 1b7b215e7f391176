"""All devices as tiles: cores as columns of heat, memory as a bar of its classes. As large as the room allows."""

from __future__ import annotations

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.charts import heat, spark, stacked
from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row, Span, clipped, row, span, width_of
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.view.devices import CLASSES, Core, Device

LABEL, NUMBERS = 6, 6
"""Cells of the device's name in front, and of its utilisation behind the cores."""
WIDEST = 64
"""Cells of a tile above which it grows no wider: two tiles side by side are read faster."""
SHORT = {"tensors": "tensors", "constants": "const", "model_code": "code", "scratchpad": "scratch", "runtime": "runtime"}
WIDEST_TRAIL = 24
"""Cells of the last minutes of a device."""


def grid(found: list[Device], frame: Frame, room: int, tallest: int) -> list[Row]:
    """At most `room` rows, `tallest` for a tile. Where even the smallest tiles do not fit, the last row says how many devices are
    left out."""
    if not found:
        return [row(span("  no Neuron device has been seen", "unknown"))]
    across, height = _layout(found, frame.width, room, tallest)
    width = frame.width // across
    rows: list[Row] = []
    for start in range(0, len(found), across):
        if len(rows) + height > room:
            left = len(found) - start
            rows[-1:] = [row(span(f"  {frame.glyphs.more} {left + across} more devices: enlarge the terminal", "warning"))]
            break
        inner = height - 1 if height >= 4 else height  # a line between rows of tiles, where there is room
        tiles = [_tile(device, width - 1, inner, frame.glyphs) for device in found[start : start + across]]
        rows += [()] * (height - inner if start else 0)
        for line in range(inner):
            spans: list[Span] = []
            for tile in tiles:
                spans += clipped(tile[line], width)
            rows.append(clipped(tuple(spans), frame.width))
    return rows


def _layout(found: list[Device], width: int, room: int, tallest: int) -> tuple[int, int]:
    """How many tiles side by side, and how many rows each: the fewest columns with which all fit, then as tall as they can be."""
    cores = max(len(device.cores) for device in found)
    most = max(1, width // (LABEL + cores + NUMBERS))
    for across in range(max(1, -(-width // WIDEST)), most + 1):
        lines = -(-len(found) // across)
        if lines <= room:
            if len(found) % across and len(found) % (across + 1) == 0 and across + 1 <= most:
                continue  # one column more leaves no hole in the last row
            return across, max(1, min(tallest, room // lines))
    return most, 1


def _tile(device: Device, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The rows of one device."""
    style = "error" if device.faults else "title" if height > 1 else "dim"
    room = max(1, (width - LABEL - NUMBERS - 12) // max(1, len(device.cores)))
    per = min(room, 2 + height) if room >= 2 else 1
    lines = [
        [Span(f"{glyphs.fault if device.faults else ' '}nd{device.number:<3}"[:LABEL] if line == 0 else " " * LABEL, style)]
        for line in range(height)
    ]
    for core in device.cores:
        for line, cell in enumerate(_column(core, per, height, glyphs)):
            lines[line].append(cell)
    mean = _mean(device, glyphs)
    left = width - width_of(lines[0]) - NUMBERS
    memory = _memory(device, left, height, glyphs)
    lines[0] += [mean, *memory[0]]
    for line in range(1, height):
        lines[line] += [Span(" " * NUMBERS), *memory[line]]
    return [tuple(line) for line in lines]


def _mean(device: Device, glyphs: Glyphs) -> Span:
    """The utilisation of a device. One that nobody holds is free: that none of its cores tells a number is no gap of knowledge."""
    if device.mean is not None and any(core.state != "free" for core in device.cores):
        return Span(f"{units.percent(device.mean):>5} ", "value")
    if device.cores and all(core.state == "free" for core in device.cores):
        return Span(" free ", "dim")
    return Span(f"{glyphs.unknown:>5} ", "unknown")


def _memory(device: Device, width: int, height: int, glyphs: Glyphs) -> list[list[Span]]:
    """What stands beside the cores in `width` cells: the memory as bar and number; below, where there are rows, what the open
    faults are, the last minutes, the largest classes of the memory."""
    found: list[list[Span]] = [[] for _ in range(height)]
    if width < 8:
        return found
    if device.used is None:
        found[0] = [Span("memory ", "dim"), Span(glyphs.unknown, "unknown")]
    else:
        whole = f"/{units.size(device.capacity)}" if device.capacity and width >= 20 else ""
        stale = glyphs.stale if device.old else ""
        number = f"{units.size(device.used) + stale + whole:>{5 + len(stale) + len(whole)}}"
        found[0] = stacked(device.parts, device.capacity, width - len(number), glyphs)
        found[0].append(Span(number, "stale" if device.old else "dim"))
    below: list[list[Span]] = []
    old = "stale" if device.mean is None and any(core.state == "stale" for core in device.cores) else ""
    if device.faults:
        below.append(list(clipped(row(span(f"{glyphs.fault} {', '.join(device.faults)}", "error")), width)))
    parts = sorted(zip(device.parts, CLASSES, strict=True), reverse=True)
    named = "  ".join(f"{SHORT[name]} {units.size(size)}" for size, name in parts[:2] if size > 0)
    if named and len(named) <= width:
        below.append([Span(named, "dim")])
    if height > 2 and any(value is not None for value in device.trail):  # with a blank row below, else it blurs with the next bar
        below.append(spark(device.trail, min(width, WIDEST_TRAIL), glyphs, 100.0, old or "trail"))
    for place, spans in enumerate(below[: height - 1], 1):
        found[place] = spans
    return found


def _column(core: Core, width: int, height: int, glyphs: Glyphs) -> list[Span]:
    """A core as a column of `height` cells; what is not busy is a mark at its foot."""
    marks = {"idle": (glyphs.idle, "warning"), "free": (glyphs.free, "dim"), "faulty": (glyphs.fault, "critical"),
             "stale": (glyphs.stale, "stale"), "unknown": (glyphs.unknown, "unknown")}  # fmt: skip
    gap = 1 if width > 1 else 0
    if core.state != "busy":
        sign, style = marks[core.state]
        # A fault fills its column: it must be seen from far.
        rows = [
            sign * (width - gap) if core.state == "faulty" or line == height - 1 else " " * (width - gap) for line in range(height)
        ]
        return [Span(text + " " * gap, style) for text in rows]
    share = min(1.0, (core.utilization.number or 0.0) / 100.0)
    steps = len(glyphs.levels) - 1
    full = max(1, round(share * steps * height))
    found = []
    for line in range(height):
        here = min(steps, max(0, full - (height - 1 - line) * steps))
        found.append(Span(glyphs.levels[here] * (width - gap) + " " * gap, heat(share)))
    return found
