"""Processes: who holds which core and device, what each uses, whose it is."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, safe, span, styled
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.jobs import number
from neuronwatch.tui.view.picture import Picture, Plain

SORTS = (
    ("device_memory", "device memory"),
    ("rss", "host memory"),
    ("cpu", "CPU"),
    ("p99", "p99"),
    ("threads", "threads"),
    ("pid", "pid"),
)
LATE = 20.0
"""Seconds after which what was read of a process is old (its source's budget)."""
DEEPEST = 12


class Listed(NamedTuple):
    process: Plain
    depth: int


class Processes(Page):
    name = "processes"
    title = "Processes"
    brief = "Proc"
    filters = True

    def __init__(self) -> None:
        self._list = Listing()
        self._text = ""
        self._sort = 0
        self._tree = False
        self._pid: int | None = None
        """The process under the cursor: the cursor stays on it when the order changes."""
        self._found: list[Listed] = []
        self._kept: object = None

    def needs(self) -> tuple[str, ...]:
        return ("processes",)

    def show(self, subject: str) -> None:
        self._pid = int(subject) if subject.isdecimal() else None

    def filter(self, text: str) -> None:
        self._text = text.casefold()

    def _shown(self, picture: Picture) -> list[Listed]:
        """The processes in their order; kept until the picture's processes or the wish changes."""
        key = (id(picture.processes), len(picture.processes), picture.taken.get("processes"), self._text, self._sort, self._tree)
        if key != self._kept:
            name = SORTS[self._sort][0]
            ordered = sorted(picture.processes, key=lambda item: _rank(item, name))
            matching = [item for item in ordered if not self._text or self._text in _searched(item)]
            self._found = (
                _tree(ordered, {item["pid"] for item in matching}) if self._tree else [Listed(item, 0) for item in matching]
            )
            self._kept = key
        return self._found

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        found = self._shown(picture)
        if not found:
            if self._text:
                return [row(span("  no process contains the filter", "dim"))]
            why, style = _none(picture)
            return [row(span(f"  {frame.glyphs.unknown if style == 'unknown' else ''} {why}", style))]
        if self._pid is not None:
            place = next((place for place, item in enumerate(found) if item.process["pid"] == self._pid), None)
            self._list.cursor = place if place is not None else self._list.cursor
        detail = frame.height >= 16
        room = frame.height - 2 - (4 if detail else 0)
        holders = sum(bool(item.process.get("devices")) for item in found)
        order = f"by {SORTS[self._sort][1]}{', as a tree' if self._tree else ''}"
        only = f"   containing {self._text!r}" if self._text else ""
        total = row(span(f" {len(found)} processes", "title"), span(f", {holders} hold a device   {order}{only}", "dim"))
        rows = [total, _head(frame)]
        for place in self._list.window(len(found), max(1, room)):
            chosen = place == self._list.cursor
            line = clipped(
                (Span((frame.glyphs.cursor if chosen else " ") + " ", "key"), *_line(found[place], picture, frame)), frame.width
            )
            rows.append(styled(line, "cursor") if chosen else line)
        self._pid = found[self._list.cursor].process["pid"]
        return [*rows, *(_detail(found[self._list.cursor].process, picture, frame) if detail else [])][: frame.height]

    def key(self, key: str, picture: Picture) -> Request | None:
        if key in ("s", "S", "shift+s"):
            self._sort = (self._sort + (1 if key == "s" else -1)) % len(SORTS)
            return Request("say", (f"by {SORTS[self._sort][1]}",))
        if key == "t":
            self._tree = not self._tree
        elif self._list.key(key):
            found = self._shown(picture)
            self._pid = found[min(self._list.cursor, len(found) - 1)].process["pid"] if found else None
        return None

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        if y >= 2 and y - 2 < self._list.room and self._list.choose(self._list.top + y - 2):
            self._pid = self._shown(picture)[self._list.cursor].process["pid"]
        return None

    def copied(self, picture: Picture) -> str:
        """The pid: for `kill`, `py-spy dump --pid`, `strace -p`."""
        return str(self._pid) if self._shown(picture) and self._pid is not None else ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        return (("s", "sort"), ("t", "list" if self._tree else "tree"))


def _none(picture: Picture) -> tuple[str, str]:
    """Why there is no process, and its style."""
    if picture.link.what == "past":
        return "nothing was kept of the processes of this moment", "unknown"
    if "processes" not in picture.taken or picture.link.what in ("lost", "waiting"):
        return "the daemon has not told of any process", "unknown"
    if picture.link.what == "replay":
        return "the recording has told of no process until now", "unknown"
    return "no process holds a device or is of interest", "dim"


def _rank(item: Plain, name: str) -> tuple[float, int]:
    """Largest first, unknown last; pids as they grow."""
    value = number(item.get(name))
    if name == "pid":
        return (float(item["pid"]), item["pid"])
    return (-value if value is not None else float("inf"), item["pid"])


def _searched(item: Plain) -> str:
    devices = " ".join(f"nd{number}" for number in item.get("devices") or ())
    cores = " ".join(map(str, item.get("cores") or ()))
    return f"{item['pid']} {item.get('command')} {item.get('owner')} {item.get('tag')} {devices} {cores}".casefold()


def _tree(ordered: list[Plain], wanted: set[int]) -> list[Listed]:
    """Children below their parents, both in the order given; parents of what is wanted are shown too."""
    known = {item["pid"]: item for item in ordered}
    children: dict[int | None, list[Plain]] = {}
    for item in ordered:
        parent = item.get("parent")
        children.setdefault(parent if parent in known and parent != item["pid"] else None, []).append(item)
    shown = set(wanted)
    for pid in wanted:
        at, steps = known[pid].get("parent"), 0
        while isinstance(at, int) and at in known and at not in shown and steps < DEEPEST * 4:
            shown.add(at)
            at, steps = known[at].get("parent"), steps + 1
    found: list[Listed] = []
    seen: set[int] = set()
    stack = [Listed(item, 0) for item in reversed(children.get(None, []))]
    while stack:
        here = stack.pop()
        pid = here.process["pid"]
        if pid in seen:
            continue
        seen.add(pid)
        if pid in shown:
            found.append(here)
        stack += [Listed(item, min(DEEPEST, here.depth + 1)) for item in reversed(children.get(pid, []))]
    # Parents that point at each other have no root: they are shown all the same.
    return found + [Listed(item, 0) for item in ordered if item["pid"] in shown - seen]


def _head(frame: Frame) -> Row:
    wide = f"{'thr':>5}{'p50':>7}{'p99':>7}" if frame.width >= 100 else ""
    return row(span(f"  {'pid':>7} {'owner':<9}{'devices and cores':<20}{'device':>7}{'host':>7}{'CPU':>6}{wide}  command", "dim"))


def _line(item: Listed, picture: Picture, frame: Frame) -> Row:
    process = item.process
    told = view.age(picture, process, "processes")
    old = told is not None and told > LATE

    def value(name: str, show: object, width: int) -> Span:
        found = number(process.get(name))
        if found is None:  # told as absent (no execution of late), or not told at all
            return (
                Span(f"{frame.glyphs.empty:>{width}}", "dim")
                if name in process
                else Span(f"{frame.glyphs.unknown:>{width}}", "unknown")
            )
        assert callable(show)
        return Span(f"{show(found) + (frame.glyphs.stale if old else ''):>{width}}", "stale" if old else "value")

    owner, holds = process.get("owner"), held(process, frame)
    apart = process.get("devices") == []
    """It holds no device: then there is nothing to be known of its memory there."""
    none = Span(f"{frame.glyphs.empty:>7}", "dim")
    spans = [
        span(f"{process['pid']:>7} ", "title"),
        span(fitted(frame.glyphs.unknown if owner is None else owner, 8) + " ", "unknown" if owner is None else ""),
        span(fitted(holds[0], 19) + " ", holds[1]),
        none if apart and number(process.get("device_memory")) is None else value("device_memory", units.size, 7),
        value("rss", units.size, 7), value("cpu", units.percent, 6),
    ]  # fmt: skip
    if frame.width >= 100:
        spans.append(value("threads", units.count, 5))
        for name in ("p50", "p99"):
            spans.append(none if apart and number(process.get(name)) is None else value(name, units.seconds, 7))
    branch = "  " * item.depth + (f"{frame.glyphs.branch} " if item.depth else "")
    state = str(process.get("state") or "")
    spans.append(Span(f"  {branch}", "dim"))
    if state[:1] in ("Z", "D"):
        spans.append(
            span(f"{frame.glyphs.warning} {'dead, not reaped' if state[:1] == 'Z' else 'stuck in the kernel'} ", "warning")
        )
    command = short(process.get("command"))
    spans.append(
        span(
            command if command is not None else f"{frame.glyphs.unknown} its command is not known",
            "" if command is not None else "unknown",
        )
    )
    return tuple(spans)


def short(command: str | None) -> str | None:
    """A command without the directories of its program and script, which tell nothing in a list."""
    if command is None:
        return None
    words = command.split(" ", 4)
    return " ".join(word.rsplit("/", 1)[-1] or word if word.startswith("/") else word for word in words[:4]) + "".join(
        f" {word}" for word in words[4:]
    )


def held(process: Plain, frame: Frame) -> tuple[str, str]:
    """Devices and cores, and their style: `nd0:nc2`, `nd8-15 32 cores`."""
    devices, cores = process.get("devices"), process.get("cores")
    if devices is None:
        why = "not readable" if process.get("kept", True) else "not kept"
        return (f"{frame.glyphs.unknown} {why}", "unknown")
    if not devices:
        return (frame.glyphs.empty, "dim")
    if isinstance(cores, list) and len(cores) == 1:
        return (str(cores[0]), "info")
    shown = ranges(devices)
    count = f" {len(cores)} cores" if isinstance(cores, list) and cores else f" cores {frame.glyphs.unknown}"
    return (f"nd{shown}{count}", "info")


def ranges(numbers: list[int]) -> str:
    """`0-3,8`."""
    parts: list[list[int]] = []
    for value in sorted(numbers):
        if parts and parts[-1][-1] == value - 1:
            parts[-1][1:] = [value]
        else:
            parts.append([value])
    return ",".join("-".join(map(str, part)) for part in parts)


def _detail(process: Plain, picture: Picture, frame: Frame) -> list[Row]:
    """The process under the cursor in full."""
    line = frame.glyphs.rule
    told = view.age(picture, process, "processes")
    done, failed = number(process.get("executions")), number(process.get("failures"))
    age = f"read {units.span(told)} ago" if told is not None else "age not known"
    parent = process.get("parent")
    cores = process.get("cores")
    state, unknown = process.get("state"), frame.glyphs.unknown
    facts = f"  parent {unknown if parent is None else parent}   state {state or unknown}   {age}"
    facts += f"   executions {units.count(done)}" if done is not None else ""
    facts += f"   job {process['tag']}" if process.get("tag") else ""
    facts += (
        f"   cores {', '.join(map(str, cores[:8]))}{frame.glyphs.more if len(cores) > 8 else ''}"
        if isinstance(cores, list) and cores
        else ""
    )
    spans: list[Span | str] = [span(facts, "dim")]
    if failed:
        spans.append(span(f"   {frame.glyphs.fault} {units.count(failed)} failed", "error"))
    command = safe(str(process.get("command") or "its command is not known"))
    wrapped = textwrap.wrap(command[:4000], max(20, frame.width - 4)) or [""]
    if len(wrapped) > 2:
        wrapped[1] = wrapped[1][: max(1, frame.width - 6)] + frame.glyphs.more
    lines = [row(span(line * frame.width, "rule")), row(*spans), *(row(span(f"  {part}", "value")) for part in wrapped[:2])]
    return [clipped(item, frame.width) for item in lines]
