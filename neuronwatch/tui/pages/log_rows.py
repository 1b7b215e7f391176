"""Rows of the Logs page: the line of what is shown, the titles, a line of a log, and one line whole."""

from __future__ import annotations

import re
import textwrap
import time
from typing import NamedTuple

from rich.cells import cell_len

from neuronwatch.tui.draw.row import Row, Span, beside, cells, clipped, cut, fitted, row, safe, span, styled
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.pages.words import mark
from neuronwatch.tui.view.log_lines import CRITICAL, ERROR, GAP, LEVELS, NOBODY, WARNING, core_name, stamp
from neuronwatch.tui.view.log_search import Query, Search
from neuronwatch.tui.view.logs import Line, Logs
from neuronwatch.tui.view.picture import Picture

SHORT = {"critical": "CRIT", "error": "ERR", "warning": "WARN", "info": "info", "debug": "dbg", "": ""}
_STYLES = {"critical": "error", "error": "error", "warning": "warning", "debug": "dim"}
OLD = 20 * 3600
"""Seconds after which a line's date says more than its seconds."""


class Shown(NamedTuple):
    logs: Logs
    query: Query
    matches: Search
    only: bool
    follows: bool
    offset: int
    below: int
    said: str
    brief: bool
    """Whether what the columns tell (rank, time, level) is left out in front of the text."""


class Columns(NamedTuple):
    """Cells; 0: not shown."""

    time: int
    level: int
    rank: int
    source: int


def columns(width: int, logs: Logs) -> Columns:
    ranked = 5 if logs.ranked else 0
    if width >= 130:
        return Columns(9, 7, ranked, 27)
    if width >= 100:
        return Columns(9, 7, ranked, 19)
    return Columns(9, 7, ranked, 13) if width >= 72 else Columns(9 if width >= 56 else 0, 2, ranked if width >= 56 else 0, 0)


def header(shown: Shown, picture: Picture, frame: Frame, busy: bool) -> Row:
    logs, wanted = shown.logs, shown.query
    spans: list[Span] = [Span(" ")]
    spans += [span(part, "chosen") for name in asked(wanted) for part in (f" {name} ",)]
    if wanted != Query():
        spans.append(span(f" {shown.matches.found:,} of {len(logs):,} lines", "value"))
        spans.append(span("" if shown.only or not wanted.text else ", all shown", "dim"))
    else:
        spans.append(span(f"{len(logs):,} lines of {len(logs.paths)} texts", "value"))
        for level, count in ((ERROR, logs.counts[ERROR] + logs.counts[CRITICAL]), (WARNING, logs.counts[WARNING])):
            if count:
                name = LEVELS[level]
                spans.append(span(f"  {mark(frame.glyphs, name)} {count:,} {name}{'s' if count > 1 else ''}", name))
    if logs.dropped:
        spans.append(span(f"  {logs.dropped:,} older dropped", "dim"))
    if logs.missing:
        spans += [Span("  "), span(f"{logs.missing:,} left out", "unknown")]
    if busy:
        spans.append(span(f"  searching {shown.matches.done:.0%}", "info"))
    if shown.said:
        right = row(span(f" {shown.said} ", "warning"))
    elif not logs.filled and picture.link.what == "live":
        right = row(span(" asking for lines ", "unknown"))
    elif picture.link.what in ("lost", "waiting"):
        right = row(span(" no new lines: no daemon ", "unknown"))
    elif wanted.until:
        right = row(span(f" as of {time.strftime('%H:%M:%S', time.gmtime(wanted.until))}Z ", "warning"))
    elif shown.follows:
        right = row(span(f" {frame.glyphs.down} following ", "ok"))
    else:
        where = f"{shown.below:,} below" if shown.below else "at the end"
        right = row(span(f" stopped, {where} ", "warning" if shown.below else "dim"))
    return beside(tuple(spans), right, frame.width)


def asked(wanted: Query) -> list[str]:
    """What a query asks for, one word each."""
    found = ["of a known time, until then"] if wanted.until else []
    found += [f"level {LEVELS[wanted.level]}+"] if wanted.level is not None else []
    found += [f"rank {wanted.rank}"] if wanted.rank is not None else []
    found += [core_name(wanted.core)] if wanted.core is not None else []
    found += [f"in {tail(wanted.path, 30)}"] if wanted.path else []
    return found + ([f"“{cut(safe(wanted.text), 40)}”"] if wanted.text else [])


def titles(shown: Shown, frame: Frame) -> Row:
    if not len(shown.logs):
        return row(span("  no line of a followed text is known yet", "dim"))
    wide = columns(frame.width, shown.logs)
    names = ((wide.time, "time"), (wide.level, "level" if wide.level > 2 else ""), (wide.rank, "rank"), (wide.source, "source"))
    text = "  " + "".join(f"{name:<{size}}" for size, name in names if size) + "text"
    return row(span(text + (f" from column {shown.offset + 1}" if shown.offset else ""), "dim"))


def line_row(line: Line, shown: Shown, now: float, frame: Frame, chosen: bool) -> Row:
    wide, level = columns(frame.width, shown.logs), line.level
    sign = Span((frame.glyphs.cursor if chosen else " ") + " ", "key")
    if level == GAP:
        rule = frame.glyphs.rule * 2
        found = (sign, span(f"{clock(line.time, now):<{wide.time}}"[: wide.time], "dim"),
                 span(f"{rule} {line.text.decode()}: {line.path} {rule}", "unknown"))  # fmt: skip
        return _marked(found, frame, chosen)
    name = LEVELS[level]
    style = _STYLES.get(name, "")
    badge = mark(frame.glyphs, name) if level >= WARNING else " "
    spans = [sign]
    if wide.time:
        spans.append(Span(f"{clock(line.time, now):<{wide.time}}", "dim"))
    word = f"{badge} {SHORT[name]}" if wide.level > 2 else badge
    spans.append(Span(word.ljust(wide.level - 1), "critical" if level == CRITICAL else style or "dim"))
    spans.append(Span(" "))
    if wide.rank:
        spans.append(Span(f"{'' if line.rank == NOBODY else line.rank:>{wide.rank - 1}} ", "value"))
    if wide.source:
        spans.append(span(fitted(tail(line.path, wide.source - 1), wide.source), "info"))
    room = max(0, frame.width - sum(cells(part.text) for part in spans))
    text = brief(line, shown.query.text) if shown.brief and wide.source else line.text
    spans += text_spans(text, shown, room, style, frame.glyphs.more)
    return _marked(tuple(spans), frame, chosen)


def _marked(found: Row, frame: Frame, chosen: bool) -> Row:
    """The line, under the cursor with its ground; what is searched for keeps its own."""
    line = clipped(found, frame.width)
    return tuple(part if part.style == "match" else styled((part,), "cursor")[0] for part in line) if chosen else line


_FRONT = re.compile(
    rb"(?:<\d{1,3}>)?(?:\[(?:rank|default) ?\d{1,5}\]:? ?)?(?:(?:INFO|WARNING|ERROR|CRITICAL|DEBUG) +)?"
    rb"\[?(?:20\d\d[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d\d[T ]|\d\d-\d\d |[A-Z][a-z]{2} {1,2}\d{1,2} )\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    rb"(?:Z|[+-]\d\d:?\d\d)?\]?(?: +\d{1,7}:\d{1,7})?(?:[ :-]+\[?(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG)\b\]?)?[ :-]*(?=\S)"
)
_LEVEL_ALONE = re.compile(rb"(?:INFO|WARNING|ERROR|CRITICAL|DEBUG): +(?=\S)")
_PADDING = re.compile(rb"(?<=\S) {3,}")
CLOSE = 3
"""Seconds between the time in a line and that in its column up to which they are the same."""


def brief(line: Line, needle: str) -> bytes:
    """The text without what the columns say, and without the padding that makes columns of its own."""
    return _PADDING.sub(b"  ", line.text[told_before(line, needle) :])


def told_before(line: Line, needle: str) -> int:
    """How many bytes in front of a line say only what its columns say. A stamp of another time, or of another zone, stays; and so
    does what is searched for."""
    found = _FRONT.match(line.text[:200])
    if found is None:
        found = _LEVEL_ALONE.match(line.text[:200])
        if found is None:
            return 0
    else:
        when = stamp(found[0], line.time)
        if when is None or abs(when - line.time) > CLOSE:
            return 0
    wanted = needle.encode("utf-8", "replace").lower()
    text = line.text.lower() if wanted else b""
    return 0 if wanted and wanted in text and wanted not in text[found.end() :] else found.end()


def text_spans(text: bytes, shown: Shown, room: int, style: str, more: str) -> list[Span]:
    """What of a line is in view, the text that is searched for lit up."""
    head = text[: (shown.offset + room) * 4 + 64].decode("utf-8", "replace")
    whole = safe(head)
    seen = cut(shifted(whole, shown.offset), room, more)
    needle = shown.query.text
    if not needle:
        return [Span(seen, style)]
    spans: list[Span] = []
    at, low, wanted = 0, lowered(seen), lowered(needle)
    while (found := low.find(wanted, at)) >= 0:
        spans += [Span(seen[at:found], style), Span(seen[found : found + len(wanted)], "match")]
        at = found + len(wanted)
    return [*spans, Span(seen[at:], style)]


_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def lowered(text: str) -> str:
    """As the search does it: only letters of ASCII, so that no length changes."""
    return text.translate(_LOWER)


def shifted(text: str, offset: int) -> str:
    """The text from a column on; half of a wide character becomes a blank."""
    if offset <= 0 or text.isascii():
        return text[max(0, offset) :]
    used = 0
    for at, c in enumerate(text):
        if used >= offset:
            return " " * (used - offset) + text[at:]
        used += cell_len(c)
    return " " * max(0, used - offset)


def tail(path: str, width: int) -> str:
    """The end of a path: it tells files apart."""
    shown = safe(path)
    if cells(shown) <= width:
        return shown
    parts = shown.split("/")
    found = parts[-1]
    for part in reversed(parts[:-1]):
        if cells(found) + cells(part) + 1 > width:
            break
        found = f"{part}/{found}"
    return cut(found, width)


def clock(when: int, now: float) -> str:
    """`12:34:56`, of an old line its day and hour, nothing where the time is not known."""
    if not when:
        return ""
    return time.strftime("%H:%M:%S" if abs(now - when) < OLD else "%b%d %Hh"[:8], time.gmtime(when))[:8]


def whole(line: Line | None, frame: Frame) -> list[Row]:
    """The line under the cursor in full, at most a third of the screen."""
    if line is None or frame.height < 9:
        return []
    rule = frame.glyphs.rule
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(line.time)) if line.time else "time not known"
    where = f"{line.path}:{line.number}" if line.number else line.path
    said = [when, line.level_name or "no level"]
    said += [f"rank {line.rank}"] if line.rank != NOBODY else []
    said += [core_name(line.core)] if line.core != NOBODY else []
    name = cut(safe(where), max(10, frame.width - 50))
    head = row(span(f"{rule}{rule} ", "rule"), span(name, "heading"), span("  " + "  ".join(said) + " ", "value"))
    room = frame.height // 3 - 1
    width = max(20, frame.width - 4)
    parts = textwrap.wrap(safe(line.text.decode("utf-8", "replace")), width // 2 if not line.text.isascii() else width) or [""]
    rows = [clipped(head, frame.width)] + [row(f"  {part}") for part in parts[:room]]
    if len(parts) > room:
        rows[-1] = row(span(f"  and {len(parts) - room + 1} rows more; y copies all", "dim"))
    return rows
