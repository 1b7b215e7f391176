"""The rules: what each one watches, how it stands now, and (pages/rule_detail.py) why it did not fire."""

from __future__ import annotations

from collections import Counter

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, span, styled
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.rule_detail import Why, stand_badge
from neuronwatch.tui.pages.words import STYLES, mark
from neuronwatch.tui.view.picture import Picture, Plain

STANDS = ("true", "unknown", "held back", "partly seen", "blind", "over", "never seen")
_WEIGHTS = ("critical", "error", "warning", "info")
ORDERS = ("state", "stage", "severity", "name")
_AHEAD = 2
"""Rows above the list: the counts and the names of the columns."""


class Rules(Page):
    name = "rules"
    title = "Rules"
    filters = True

    def __init__(self) -> None:
        self._list = Listing()
        self._why: Why | None = None
        self._text = ""
        self._stage = self._severity = self._stand = ""
        self._order = 0

    def needs(self) -> tuple[str, ...]:
        return ("rules",) if self._why is None else ("rules", f"why {self._why.rule}")

    def show(self, subject: str) -> None:
        self._why = Why(subject)

    def filter(self, text: str) -> None:
        self._text = text.casefold()

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        if self._why is not None:
            return self._why.rows(picture, frame)
        if not picture.rules:
            why = (
                "no rule is in use" if picture.link.what == "live" else "nothing is known of the rules: the daemon has not answered"
            )
            return [row(span(f"  {frame.glyphs.unknown} {why}", "unknown"))]
        found = self._shown(picture)
        rows = [self._counts(picture.rules, len(found), frame), self._columns(frame)]
        if not found:
            return [*rows, row(span("  no rule is left by the filters (escape of / and f, s, v again take them away)", "dim"))]
        for place in self._list.window(len(found), frame.height - _AHEAD):
            chosen = place == self._list.cursor
            line = clipped(_line(found[place], chosen, picture.now, frame), frame.width)
            rows.append(styled(line, "cursor") if chosen else line)
        return rows

    def _counts(self, rules: list[Plain], shown: int, frame: Frame) -> Row:
        """How many rules stand how, and what is left out."""
        counts = Counter(str(item.get("state", "never seen")) for item in rules)
        left: list[Span] = [Span(f"  {len(rules)} rules ", "title")]
        for stand in STANDS:
            if counts[stand]:
                sign = stand_badge(frame.glyphs, stand, f"{counts[stand]} {stand}")
                left += [Span("  "), Span(sign.text, sign.style)]
        filters = {"stage": self._stage, "severity": self._severity, "state": self._stand, "text": self._text}
        chosen = [f"{name} {value}" for name, value in filters.items() if value]
        right = [Span("   only ", "dim"), span(", ".join(chosen), "match"), Span(f" ({shown})", "dim")] if chosen else []
        return clipped((*left, *right), frame.width)

    def _columns(self, frame: Frame) -> Row:
        arrow = frame.glyphs.down
        names = [("state", 14), ("severity", 11), ("stage", 9 if _staged(frame) else 0), ("rule", _rule_width(frame))]
        spans = [Span("  ")]
        for name, width in names:
            if not width:
                continue
            chosen = ORDERS[self._order] in (name, "name" if name == "rule" else name)
            spans.append(Span(f"{name + (arrow if chosen else ''):<{width}}", "title" if chosen else "dim"))
        spans.append(Span("what it watches" if frame.width < 150 else "what it watches, and why it stands so", "dim"))
        return clipped(tuple(spans), frame.width)

    def _shown(self, picture: Picture) -> list[Plain]:
        found = [
            item
            for item in picture.rules
            if (not self._stage or item.get("stage") == self._stage)
            and (not self._severity or item["severity"] == self._severity)
            and (not self._stand or item.get("state") == self._stand)
            and self._text in f"{item['id']} {item['fault']} {item['title']} {item.get('state')} {item.get('reason')}".casefold()
        ]
        order = ORDERS[self._order]
        if order == "state":
            found.sort(key=lambda item: (_place(STANDS, item.get("state")), _place(_WEIGHTS, item["severity"]), item["id"]))
        elif order == "severity":
            found.sort(key=lambda item: (_place(_WEIGHTS, item["severity"]), item["id"]))
        else:
            found.sort(key=lambda item: (str(item.get("stage")) if order == "stage" else "", item["id"]))
        return found

    def key(self, key: str, picture: Picture) -> Request | None:
        if self._why is not None:
            if key in ("escape", "backspace", "h"):
                self._why = None
                return None
            if key in ("n", "p"):
                self._step(1 if key == "n" else -1, picture)
                return None
            return self._why.key(key, picture)
        found = self._shown(picture)
        if key in ("enter", "l") and found:
            self._why = Why(found[min(self._list.cursor, len(found) - 1)]["id"])
        elif key == "f":
            self._stage = _next(self._stage, sorted({str(item.get("stage", "")) for item in picture.rules}))
        elif key == "s":
            self._severity = _next(self._severity, [item for item in _WEIGHTS if any(r["severity"] == item for r in picture.rules)])
        elif key == "v":
            self._stand = _next(self._stand, [item for item in STANDS if any(r.get("state") == item for r in picture.rules)])
        elif key == "o":
            self._order = (self._order + 1) % len(ORDERS)
        else:
            self._list.key(key)
            return None
        if key in ("f", "s", "v", "o"):
            self._list.cursor = 0
        return None

    def _step(self, by: int, picture: Picture) -> None:
        """To the next rule of the list."""
        assert self._why is not None
        ids = [item["id"] for item in self._shown(picture)]
        if ids:
            place = ids.index(self._why.rule) if self._why.rule in ids else 0
            self._list.cursor = (place + by) % len(ids)
            self._why = Why(ids[self._list.cursor])

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        if self._why is not None:
            return self._why.click(y, picture)
        found = self._shown(picture)
        if y >= _AHEAD and self._list.top + y - _AHEAD < len(found) and self._list.choose(self._list.top + y - _AHEAD):
            self._why = Why(found[self._list.cursor]["id"])
        return None

    def copied(self, picture: Picture) -> str:
        if self._why is not None:
            return self._why.copied()
        found = self._shown(picture)
        return f"neuronwatch rules show {found[min(self._list.cursor, len(found) - 1)]['id']}" if found else ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        if self._why is not None:
            return (("n p", "next, previous"), ("escape", "list"))
        return (("enter", "why"), ("f", "stage"), ("s", "severity"), ("v", "state"), ("o", "order"))


def _staged(frame: Frame) -> bool:
    """Whether the stage has a column of its own; else the name of the rule, which begins with it, has the room."""
    return frame.width >= 100


def _rule_width(frame: Frame) -> int:
    return max(20, min(40, frame.width // 4)) if _staged(frame) else max(20, min(36, frame.width - 44))


def _line(item: Plain, chosen: bool, now: float, frame: Frame) -> Row:
    """One rule. Its name never gives way, what it watches does."""
    stand, severity = str(item.get("state", "never seen")), str(item["severity"])
    quiet = stand in ("never seen", "over", "blind")
    loud = stand in ("true", "unknown")  # else nothing is wrong: no mark of a fault on it
    since = f" for {units.span(now - item['since'])}" if item.get("since") and loud else ""
    seen = [*item["signatures"], *item["joins"]]
    reason = f"{item.get('reason') or ''}{since}".strip()
    sign = stand_badge(frame.glyphs, stand)
    weigh = span(f"{mark(frame.glyphs, severity) if loud else ' '} {severity:<8} ", STYLES.get(severity, "") if loud else "dim")
    return (
        Span((frame.glyphs.cursor if chosen else " ") + " ", "key"), span(fitted(sign.text, 13) + " ", sign.style),
weigh, span(fitted(str(item.get("stage", "")), 8) + " " if _staged(frame) else "", "dim"),
        span(fitted(item["id"], _rule_width(frame) - 1) + " ", "dim" if quiet else "title" if loud else "value"),
        span(item["title"], "dim" if quiet else ""), span(f"  {reason}" if reason else "", "dim" if quiet else "info"),
        span(f"  [{', '.join(seen)}]" if seen and frame.width >= 110 else "", "dim"),
    )  # fmt: skip


def _place(order: tuple[str, ...], word: object) -> int:
    return order.index(str(word)) if word in order else len(order)


def _next(now: str, values: list[str]) -> str:
    """The value after `now`; after the last one none."""
    values = ["", *(item for item in values if item)]
    return values[(values.index(now) + 1) % len(values)] if now in values else ""
