"""One rule: how it stands, each of its conditions with what became of it (seen, not seen, source blind), and what held it back."""

from __future__ import annotations

import textwrap
import time

from neuronwatch.tui.draw.glyphs import Glyphs
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, safe, span, styled
from neuronwatch.tui.pages.api import Frame, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.words import badge, heading
from neuronwatch.tui.view.picture import Picture, Plain

_CHECKS = {"true": ("seen", "ok"), "false": ("not seen", "dim"), "unknown": ("source blind", "unknown")}
_STANDS = {"true": "error", "unknown": "unknown", "held back": "info", "partly seen": "info", "over": "dim", "blind": "unknown",
           "never seen": "dim"}  # fmt: skip
ENDS = {
    "exit": "with the process or run that wrote it", "pattern": "when a later line says so", "fact": "when the facts say so",
    "ttl": "after its time without new evidence", "manual": "when a person acknowledges it",
}  # fmt: skip


def stand_badge(glyphs: Glyphs, stand: str, shown: str = "") -> Span:
    """How a rule stands, with its mark: what cannot be judged is never shown like what was not seen."""
    marks = {"true": glyphs.fault, "unknown": glyphs.unknown, "held back": glyphs.idle, "partly seen": glyphs.stale,
             "over": glyphs.ok, "blind": glyphs.unknown}  # fmt: skip
    return span(f"{marks.get(stand, glyphs.empty)} {shown or stand}", _STANDS.get(stand, "unknown"))


Line = tuple[Row, str]
"""A row, and what `y` copies there."""
BLANK: Line = ((), "")
INDENT = 19


class Why:
    def __init__(self, rule: str) -> None:
        self.rule = rule
        self._list = Listing()
        self._lines: list[Line] = []

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        item = next((item for item in picture.rules if item["id"] == self.rule), None)
        if item is None:
            self._lines = []
            return [row(span(f"  no rule {self.rule} is in use", "unknown"))]
        why = picture.why if picture.why.get("rule") == self.rule else None
        self._lines = _lines(item, why, picture.link.what == "past", frame)
        rows = []
        for place in self._list.window(len(self._lines), frame.height):
            line = clipped(self._lines[place][0], frame.width)
            rows.append(styled(line, "cursor") if place == self._list.cursor else line)
        return rows

    def key(self, key: str, picture: Picture) -> Request | None:
        self._list.key(key)
        return None

    def click(self, y: int, picture: Picture) -> Request | None:
        self._list.choose(self._list.top + y)
        return None

    def copied(self) -> str:
        """The line under the cursor; of the head the command that tells the same of a capture."""
        here = self._lines[self._list.cursor][1] if self._list.cursor < len(self._lines) else ""
        return here or f"neuronwatch rules why-not {self.rule}"


def _lines(item: Plain, why: Plain | None, past: bool, frame: Frame) -> list[Line]:
    found = [*_head(item, why or item, frame), BLANK, _title("Conditions", frame)]
    if why is None:
        which = "what became of its conditions then is not kept" if past else "the daemon has not told of its conditions yet"
        return [*found, (row(span(f"  {frame.glyphs.unknown} {which}", "unknown")), "")]
    for check in sorted(why["checks"], key=lambda check: check["state"] == "false"):  # most rules have many that were not seen
        found += _check(check, frame)
    if not why["checks"]:
        found.append((row(span(f"  {frame.glyphs.unknown} nothing has been judged yet", "unknown")), ""))
    notes = [str(part) for part in why["notes"]]
    found += _section("What made it surer" if why["fired"] else "What held it back", notes, frame)
    found += _section("Evidence", [_place(part) for part in why["evidence"]], frame)
    return [*found, *_section("What it would mean", [str(why.get("cause", ""))], frame)]


def _head(item: Plain, now: Plain, frame: Frame) -> list[Line]:
    """Its name, how it stands and since when, and how its condition ends."""
    stand, reason = str(now.get("state", "never seen")), str(now.get("reason") or "")
    since = f" since {time.strftime('%H:%M:%S', time.gmtime(now['since']))}" if now.get("since") else ""
    of = f" of {item['fault']}" if item["fault"] else ""
    role = span(f"  stage {item.get('stage', '')}, {item['role']}{of}", "dim")
    found: list[Line] = [
        (row(stand_badge(frame.glyphs, stand), Span("  "), span(item["id"], "title"), span(f"  {item['title']}")), item["id"]),
        (row(badge(frame.glyphs, item["severity"]), role), ""),
    ]
    if reason or since:
        text = f"{stand}{since}{': ' if reason else ''}{reason}"
        found += [(row(span(f"  {part}", "value")), reason) for part in _wrapped(text, frame)]
    return [*found, (row(span("  ends ", "dim"), span(ENDS.get(item["ends"], str(item["ends"])))), "")]


def _check(check: Plain, frame: Frame) -> list[Line]:
    """One condition: what became of it, its expression, and what is said of it."""
    word, style = _CHECKS.get(check["state"], (check["state"], "unknown"))
    sign = {"true": frame.glyphs.ok, "unknown": frame.glyphs.unknown}.get(check["state"], frame.glyphs.empty)
    found: list[Line] = []
    for place, part in enumerate(_wrapped(check["what"], frame, INDENT)):
        front = f"  {sign} {fitted(word, 14)} " if place == 0 else ""
        found.append((row(span(front.ljust(INDENT), style), span(part)), check["what"]))
    if check["detail"] and check["detail"] != word:
        found += [(row(span(" " * INDENT + part, style)), check["detail"]) for part in _wrapped(check["detail"], frame, INDENT)]
    return found


def _place(item: Plain) -> str:
    where = f"{item['path']}:{item['line']}" if item["line"] else item["path"]
    return f"{where}  {item['text'].strip()}" if item["text"] else where


def _section(title: str, texts: list[str], frame: Frame) -> list[Line]:
    texts = [text for text in texts if text]
    if not texts:
        return []
    return [BLANK, _title(title, frame), *((row(f"  {part}"), text) for text in texts for part in _wrapped(text, frame))]


def _wrapped(text: str, frame: Frame, indent: int = 2) -> list[str]:
    return textwrap.wrap(safe(text), max(20, frame.width - indent - 2))


def _title(text: str, frame: Frame) -> Line:
    return heading(text, frame), ""
