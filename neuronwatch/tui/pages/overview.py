"""The overview: the host and its versions, every device and core, the host's own resources, jobs, and what is wrong."""

from __future__ import annotations

import re

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.charts import bar, highest, spark
from neuronwatch.tui.draw.glyphs import ASCII, Glyphs
from neuronwatch.tui.draw.row import Row, Span, beside, clipped, in_ascii, plain, row, span, width_of
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.history import History
from neuronwatch.tui.pages.job_rows import job_line
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.tiles import SHORT, grid
from neuronwatch.tui.pages.words import STYLES, heading, mark, number
from neuronwatch.tui.view import summary
from neuronwatch.tui.view.devices import CLASSES, CoreState, Device, devices
from neuronwatch.tui.view.picture import Picture

TALLEST, TALL = 4, 70
"""Rows of a tile of a device, twice as many in a terminal of TALL lines: the rest of the room tells of what led up to now."""


class Overview(Page):
    name = "overview"
    title = "Overview"
    brief = "Host"

    def __init__(self) -> None:
        self._list = Listing()
        self._history = History()
        self._first = 0
        """The row of the first incident in the frame that was drawn last."""

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        found = devices(picture)
        head = [*_identity(picture, frame), *_summary(picture, found, frame)]
        host = _host(picture, frame)
        incidents = picture.open_incidents()
        jobs = _jobs(picture, frame)
        least = min(len(incidents) or 1, max(1, frame.height // 5))
        room = frame.height - len(head) - len(host) - len(jobs) - least - 2
        tiles = grid(found, frame, max(1, room), TALLEST if frame.height < TALL else 2 * TALLEST)
        rows = [*head, _devices_heading(frame), *tiles, *host, *jobs]
        waits = f"{len(picture.proposals)} to approve (2)" if picture.proposals else ""
        told = [part for part in (waits, f"{len(incidents)} open" if incidents else "") if part]
        rows.append(heading("Incidents", frame, ", ".join(told)))
        self._first = len(rows)
        rows += self._incidents(picture, incidents, frame, frame.height - len(rows))
        return [*rows, *self._history.rows(picture, frame, frame.height - len(rows))][: frame.height]

    def _incidents(self, picture: Picture, incidents: list[dict[str, object]], frame: Frame, room: int) -> list[Row]:
        if not incidents:
            self._list.window(0, 1)
            if picture.verdict == "healthy":
                return [row(span(f"  {frame.glyphs.ok} nothing is wrong", "ok"))]
            return [
                clipped(
                    row(
                        span(
                            f"  {frame.glyphs.unknown} {picture.verdict}: {'; '.join(picture.reasons()[:2])}",
                            STYLES.get(picture.verdict, ""),
                        )
                    ),
                    frame.width,
                )
            ]
        rows = []
        for place in self._list.window(len(incidents), room):
            item = incidents[place]
            line = incident_line(item, picture.now, frame)
            rows.append(clipped((self._list.sign(place, frame.glyphs), *line), frame.width))
        return rows

    def key(self, key: str, picture: Picture) -> Request | None:
        if self._list.key(key):
            return None
        incidents = picture.open_incidents()
        if key == "enter" and incidents:
            return Request("open", ("incidents", incidents[self._list.cursor]["id"]))
        return None

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        if self._first <= y < self._first + self._list.room and self._list.choose(self._list.top + y - self._first):
            return Request("open", ("incidents", picture.open_incidents()[self._list.cursor]["id"]))
        return None

    def needs(self) -> tuple[str, ...]:
        return ("jobs", "proposals")

    def copied(self, picture: Picture) -> str:
        incidents = picture.open_incidents()
        return str(incidents[self._list.cursor]["id"]) if incidents else ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        return (("enter", "incident"),)


def incident_line(item: dict[str, object], now: float, frame: Frame) -> Row:
    """One incident: severity, age, fault, title, entities."""
    severity = str(item["severity"])
    style = STYLES.get(severity, "") if item["state"] != "resolved" else "dim"
    opened = item["opened"]
    age = units.span(now - opened) if isinstance(opened, float) else ""
    findings = item["findings"]
    entities = findings[0]["entities"] if isinstance(findings, list) and findings else []
    tail = f"  {', '.join(map(str, entities[:4]))}{'…' if len(entities) > 4 else ''}" if entities else ""
    named = "title" if item["state"] != "resolved" else "dim"
    state = "" if item["state"] == "open" else f" {item['state']}"
    return (
        Span(f"{mark(frame.glyphs, severity)} {severity:<8}", style), Span(f" {age:>5}  ", "dim"),
        span(item["fault"] or "(cause not known)", named), span(f"{state}  {item['title']}"), span(tail, "dim"),
    )  # fmt: skip


def _identity(picture: Picture, frame: Frame) -> list[Row]:
    facts = picture.facts

    def part(name: str, fact: str, wrong: tuple[str, ...]) -> list[Span]:
        value = facts.get(fact)
        if value is None:
            return [Span(f"{name} ", "dim"), Span(frame.glyphs.unknown, "unknown"), Span("  ")]
        bad = [item for item in wrong if facts.get(item) is True]
        checked = [item for item in wrong if item in facts]
        sign, style = (
            (frame.glyphs.fault, "error") if bad else (frame.glyphs.ok, "ok") if checked else (frame.glyphs.unknown, "unknown")
        )
        return [Span(f"{name} ", "dim"), span(value, "value"), Span(f" {sign}  ", style)]

    kind = facts.get("host.instance_type") or facts.get("neuron.architecture")
    spans: list[Span] = [span(kind or "instance not known", "title" if kind else "unknown"), Span("  ")]
    shown = (
        ("driver", "driver.version", ("compat.driver_too_old", "compat.hw_unsupported")),
        ("runtime", "runtime.version", ("compat.runtime_too_old",)),
        ("SDK", "sdk.release", ("compat.sdk_skew",)),
        ("kernel", "host.kernel", ("compat.kernel_unsupported",)),
    )
    rows: list[Row] = []
    for item in shown:
        more = part(*item)
        if width_of(spans) + width_of(more) > frame.width and spans:
            rows.append(clipped(tuple(spans), frame.width))
            spans = [Span("  ")]
        spans += more
    return [*rows, clipped(tuple(spans), frame.width)]


def _summary(picture: Picture, found: list[Device], frame: Frame) -> list[Row]:
    """Cores by state, hottest and idlest, utilisation over the last minutes."""
    whole = summary.cores(found)
    glyphs = frame.glyphs
    signs: dict[CoreState, tuple[str, str]] = {  # worst first: where the room ends, it is the rest that is cut
        "faulty": (glyphs.fault, "error"),
        "unknown": (glyphs.unknown, "unknown"),
        "stale": (glyphs.stale, "stale"),
        "busy": (glyphs.full, "ok"),
        "idle": (glyphs.idle, "warning"),
        "free": (glyphs.free, "dim"),
    }
    left: list[Span] = [Span("Cores ", "dim"), Span(f"{whole.total}", "value")]
    for name, (sign, style) in signs.items():
        if whole.states[name]:
            left.append(Span(f"  {sign} {whole.states[name]} {'held but idle' if name == 'idle' else name}", style))
    trail = picture.trail("core.utilization")
    right: list[Span] = []
    if whole.mean is not None and whole.hottest is not None and whole.idlest is not None:
        high, low = whole.hottest, whole.idlest
        free = frame.width - width_of(left) - 12
        right = [
            Span(f"mean {units.percent(whole.mean)} ", "value"),
            *spark([value for _, value in trail], max(0, min(30, frame.width // 5, free)), frame.glyphs, 100.0),
        ]
        more = Span(f"  hottest {high[1]} {units.percent(high[0])}  idlest {low[1]} {units.percent(low[0])}", "dim")
        if width_of(left) + width_of(right) + width_of([more]) + 2 <= frame.width:
            left.append(more)
    return [beside(tuple(left), tuple(right), frame.width)]


def _devices_heading(frame: Frame) -> Row:
    """With the legend of the memory bars, each part as it looks in them."""
    if frame.width < 100:
        return heading("Devices", frame)
    legend: list[Span] = []
    for place, name in enumerate(CLASSES):
        legend += [Span(f" {frame.glyphs.shades[place]}", f"part{place}"), Span(f" {SHORT[name]} ", "dim")]
    return (*heading("Devices", frame._replace(width=frame.width - width_of(legend))), *legend)


def _host(picture: Picture, frame: Frame) -> list[Row]:
    """CPU, memory, disk and network of the host."""
    glyphs = frame.glyphs
    cpu, used, total = picture.seen("host.cpu"), picture.seen("host.memory.used"), picture.seen("host.memory.total")
    disk, load = picture.seen("host.disk.used"), picture.seen("host.load")
    share = used.number / total.number if used.number is not None and total.number else None
    room = max(6, min(20, frame.width // 9))
    spans: list[Span] = [Span("  CPU ", "dim")]
    spans += bar(cpu.number / 100 if cpu.number is not None else None, room, glyphs, "stale" if cpu.trust == "stale" else "")
    spans += [number(cpu, units.percent(cpu.number or 0), glyphs, 5, "value"), Span("  mem ", "dim")]
    spans += bar(share, room, glyphs, "stale" if used.trust == "stale" else "")
    spans += [
        number(used, units.size(used.number or 0), glyphs, 6, "value"),
        Span("/" + (units.size(total.number) if total.number else glyphs.unknown), "dim"),
    ]
    spans += [Span("  disk ", "dim"), number(disk, units.percent(disk.number or 0), glyphs, 4, "value")]
    spans += [Span("  load ", "dim"), number(load, f"{load.number or 0:.1f}", glyphs, 5, "value")]
    if frame.width >= 110:
        for name, metric in (("rx", "host.network.receive"), ("tx", "host.network.transmit")):
            seen, trail = picture.seen(metric), [value for _, value in picture.trail(metric)]
            spans += [Span(f"  {name} ", "dim"), number(seen, units.size(seen.number or 0) + "/s", glyphs, 7, "value"), Span(" "),
                      *spark(trail, 8, glyphs, highest(trail, 1024.0), "stale" if seen.trust == "stale" else "")]  # fmt: skip
    return [heading("Host", frame), clipped(tuple(spans), frame.width)]


def _jobs(picture: Picture, frame: Frame) -> list[Row]:
    if not picture.jobs:
        return []
    rows = [heading("Jobs", frame, f"{len(picture.jobs)}")]
    for job in picture.jobs[:3]:
        rows.append(clipped(job_line(picture, job, frame), frame.width))
    return rows


def text(picture: Picture, glyphs: Glyphs) -> list[str]:
    """The figures of the page as lines without bars, for `neuronwatch status`: versions, cores, host, jobs."""
    frame = Frame(1000, 100, glyphs)
    rows = [*_identity(picture, frame), *_summary(picture, devices(picture), frame), *_host(picture, frame)[1:]]
    rows += [job_line(picture, job, frame) for job in picture.jobs]
    kept = [tuple(part for part in line if not _is_bar(part, glyphs)) for line in rows]
    return [re.sub(" {2,}", "  ", plain(in_ascii(line) if glyphs is ASCII else line)).strip() for line in kept]


def _is_bar(part: Span, glyphs: Glyphs) -> bool:
    signs = {*glyphs.levels, glyphs.full, glyphs.empty, glyphs.unknown}
    drawn = len(part.text.strip()) > 1 and signs.issuperset(part.text)
    return drawn or part.style.startswith(("heat", "spark"))
