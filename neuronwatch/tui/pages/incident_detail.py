"""One incident: what happened, from the root to the symptoms on a time line, the lines that prove it in their context, the fix as
commands to copy, and why each rule fired.
"""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, safe, span, styled
from neuronwatch.tui.pages.api import Frame, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.words import STYLES, badge, heading
from neuronwatch.tui.view.picture import Picture, Plain

CONTEXT = 3
"""Lines shown before and after a line of evidence."""
MOST_PLACES = 6
"""Lines of evidence of one finding; the rest is counted."""
_COMMAND = re.compile(r"`([^`]{1,500})`")


class Line(NamedTuple):
    """A row with what `y` copies there and where `enter` goes to."""

    row: Row
    copies: str = ""
    path: str = ""
    number: int | None = None


class Detail:
    def __init__(self, id: str) -> None:
        self.id = id
        self._list = Listing()
        self._lines: list[Line] = []

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        item = next((item for item in picture.incidents if item["id"] == self.id), None)
        if item is None:
            self._lines = []
            return [row(span(f"  no incident {self.id} is known any more", "unknown"))]
        files = {file["path"]: file["text"] for file in picture.evidence.get(self.id, ())}
        self._lines = list(_lines(item, files, picture.now, frame))
        rows = []
        for place in self._list.window(len(self._lines), frame.height):
            line = clipped(self._lines[place].row, frame.width)
            rows.append(styled(line, "cursor") if place == self._list.cursor else line)
        return rows

    def preview(self, picture: Picture, frame: Frame) -> list[Row]:
        """Its beginning, without a cursor: below the list."""
        item = next((item for item in picture.incidents if item["id"] == self.id), None)
        if item is None:
            return []
        return [clipped(line.row, frame.width) for line in _lines(item, {}, picture.now, frame)[: frame.height]]

    def key(self, key: str, picture: Picture) -> Request | None:
        from neuronwatch.tui.pages.incidents import acknowledge

        if self._list.key(key):
            return None
        if key == "a":
            item = next((item for item in picture.incidents if item["id"] == self.id), None)
            return acknowledge(item) if item is not None else None
        if key == "enter" and self._lines:
            here = self._lines[self._list.cursor]
            if here.path:
                return Request("open", ("logs", f"{here.path}:{here.number or 0}"))
        return None

    def click(self, y: int, picture: Picture) -> Request | None:
        self._list.choose(self._list.top + y)
        return None

    def copied(self) -> str:
        """The command or line under the cursor; without one the id."""
        here = self._lines[self._list.cursor].copies if self._lines else ""
        return here or self.id


def _lines(item: Plain, files: dict[str, str], now: float, frame: Frame) -> list[Line]:
    found = [Line(part) for part in _head(item, now, frame)]
    root, *others = item["findings"]
    found += _text("Cause", root["cause"], frame)
    found += _fix(root, frame)
    found += _chain(item, frame)
    told: set[tuple[str, int | None, str]] = set()
    for finding in (root, *others):
        found += _evidence(finding, files, told, frame)
    found += _why(item, frame)
    found += [Line(()), _title("Time line", frame)]
    for change in item["revisions"]:
        found.append(Line(row(span(f"  {units.clock(change['time'])}  ", "dim"), change["what"])))
    return found


def _head(item: Plain, now: float, frame: Frame) -> list[Row]:
    glyphs = frame.glyphs
    entities = list(dict.fromkeys(name for finding in item["findings"] for name in finding["entities"]))
    lasted = (item["resolved"] or now) - item["opened"]
    ends = f"resolved after {units.span(lasted)}" if item["resolved"] else f"open for {units.span(lasted)}"
    fault = span(item["fault"] or "(cause not known)", "title")
    return [
        row(badge(glyphs, item["severity"]), Span("  "), fault, span(f"  {item['title']}")),
        row(badge(glyphs, item["state"]), span(f"  since {units.clock(item['opened'])}, {ends}   {item['id']}", "dim"),
            span(f"   {', '.join(entities[:12])}{glyphs.more if len(entities) > 12 else ''}", "value")),
    ]  # fmt: skip


def _title(text: str, frame: Frame) -> Line:
    return Line(heading(text, frame))


def _text(title: str, text: str, frame: Frame) -> list[Line]:
    wrapped = textwrap.wrap(safe(text), max(20, frame.width - 4)) or ["not known"]
    return [Line(()), _title(title, frame), *(Line(row(f"  {part}"), text) for part in wrapped)]


def _fix(finding: Plain, frame: Frame) -> list[Line]:
    """Steps, their commands lit up; each copies its command, or itself."""
    found = [Line(()), _title("Fix", frame)]
    steps = [(f"{number}.", step) for number, step in enumerate(finding["fix"], 1)] + [("ok?", step) for step in finding["confirm"]]
    for name, step in steps:
        commands = _COMMAND.findall(step)
        copies = commands[0] if commands else step
        inside = False  # a command may go over several lines
        for place, part in enumerate(textwrap.wrap(safe(step), max(20, frame.width - 8), break_on_hyphens=False) or [""]):
            spans = [span(f"  {name:<4}" if place == 0 else "      ", "key" if name != "ok?" else "ok")]
            for number, piece in enumerate(part.split("`")):
                inside ^= number > 0
                spans.append(span(piece, "command" if inside else ""))
            found.append(Line(tuple(spans), copies))
    if not steps:
        found.append(Line(row(span("  no fix is known without the cause", "dim"))))
    action = finding["action"]
    if action is not None:
        found.append(Line(row(span("  proposed action: ", "dim"), *_action(action))))
    return found


def _action(action: object) -> list[Span]:
    """What is proposed, and whether it can do harm."""
    if not isinstance(action, dict):
        return [span(str(action), "value")]
    more = [f"{name} {value}" for name, value in action.items() if name not in ("kind", "safe") and value]
    harm = span("  does no harm" if action.get("safe") is True else "  not safe by itself: a person decides", "dim")
    return [span(str(action.get("kind", "")), "value"), harm, *([span(f"  {', '.join(more)}", "dim")] if more else [])]


def _chain(item: Plain, frame: Frame) -> list[Line]:
    """Root first, then what followed from it, by time."""
    found = [Line(()), _title("What followed from what", frame)]
    titles = {condition["key"]: finding for condition, finding in zip(item["conditions"], item["findings"], strict=False)}
    for place, condition in enumerate(item["conditions"]):
        finding = titles.get(condition["key"])
        if finding is None:
            continue
        branch = "  " if place == 0 else f"    {frame.glyphs.branch} "
        note = {"true": "", "false": " (over)", "unknown": f" (not seen now: {condition['reason']})"}.get(condition["state"], "")
        found.append(Line(row(
            span(f"  {units.clock(condition['since'])}{branch}", "dim"), badge(frame.glyphs, finding["severity"], finding["role"]),
            span(f"  {finding['title']}{note}"), span(f"  {', '.join(finding['entities'][:6])}", "dim"),
        ), finding["title"]))  # fmt: skip
    return found


def _evidence(finding: Plain, files: dict[str, str], told: set[tuple[str, int | None, str]], frame: Frame) -> list[Line]:
    """`told`: the lines that another finding has shown among their neighbours already; here they stand alone."""
    found = [Line(()), _title(f"Evidence: {finding['title']}", frame)]
    for place in finding["evidence"][:MOST_PLACES]:
        where = place["path"] + (f":{place['line']}" if place["line"] else "")
        found.append(Line(row(span(f"  {where}", "info")), where, place["path"], place["line"]))
        key = (place["path"], place["line"], place["text"])
        found += _context(place, "" if key in told else files.get(place["path"], ""), frame)
        told.add(key)
    if len(finding["evidence"]) > MOST_PLACES:
        found.append(Line(row(span(f"  and {len(finding['evidence']) - MOST_PLACES} more lines", "dim"))))
    return found


def _context(place: Plain, text: str, frame: Frame) -> list[Line]:
    """The line among its neighbours, where the text around it is known: found by itself, since a tail has no numbers."""
    lines = text.rstrip("\n").split("\n") if text else []
    wanted = place["text"].strip()
    at = next((number for number in range(len(lines) - 1, -1, -1) if wanted and wanted[:200] in lines[number]), None)
    if at is None:
        return [Line(row(span(f"  {frame.glyphs.cursor} {place['text'].strip()}", "value")), place["text"])]
    found = []
    for number in range(max(0, at - CONTEXT), min(len(lines), at + CONTEXT + 1)):
        sign, style = (frame.glyphs.cursor, "value") if number == at else (" ", "dim")
        found.append(Line(row(span(f"  {sign} {lines[number]}", style)), lines[number], place["path"], place["line"]))
    return found


def _why(item: Plain, frame: Frame) -> list[Line]:
    found = [Line(()), _title("Why these rules fired, and how each ends", frame)]
    for condition, finding in zip(item["conditions"], item["findings"], strict=False):
        ends = condition["ends"] or condition["reason"] or "not told"
        state = {"true": "holds", "false": "ended", "unknown": "not seen"}.get(condition["state"], condition["state"])
        found.append(Line(row(
            span(f"  {fitted(finding['rule'], 34)} ", "value"), span(f"{state:<9}", STYLES.get("info", "")),
            span(f"{finding['confidence']:.0%} sure, {units.counted(len(finding['evidence']), 'line')}; ends: {ends}", "dim"),
        ), finding["rule"]))  # fmt: skip
    return found
