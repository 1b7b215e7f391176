"""What the owner of a job proposes and may not do without a person: the change as a preview, and the answer, given twice."""

from __future__ import annotations

import textwrap

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.row import Row, Span, clipped, row, safe, span
from neuronwatch.tui.pages.api import Frame, Request
from neuronwatch.tui.pages.words import heading
from neuronwatch.tui.view.picture import Picture, Plain

ANSWERS = {"A": "approve", "D": "decline"}
AGAIN = 15.0
"""Seconds in which the key must be pressed again: a slip of a finger changes no job."""


def find(picture: Picture, id: str) -> Plain | None:
    return next((item for item in picture.proposals if item["id"] == id), None)


def line(item: Plain, now: float, frame: Frame) -> Row:
    """One proposal for a list."""
    since = item.get("since")
    age = units.span(now - since) if isinstance(since, float) else ""
    return (
        Span(f"{frame.glyphs.unknown} {'approve?':<8}", "warning"), Span(f" {age:>5}  ", "dim"),
        span(f"{item.get('action')}", "title"), span(f"  {item.get('words')}"), span(f"  job {item.get('job')}", "dim"),
    )  # fmt: skip


def rows(item: Plain, now: float, frame: Frame) -> list[Row]:
    """All of it."""
    expires = item.get("expires")
    left = f", expires in {units.span(expires - now)}" if isinstance(expires, float) and expires > now else ", has expired"
    found = [clipped(line(item, now, frame), frame.width)]
    fault = item.get("fault") or "the failure"
    found.append(row(span(f"  for {fault} in run {item.get('run')} of job {item.get('job')}{left}   {item['id']}", "dim")))
    found += [(), heading("What would be done", frame)]
    found += [row(span(f"  {part}")) for part in textwrap.wrap(safe(str(item.get("words"))), max(20, frame.width - 4))]
    found += [(), heading("What would change", frame)]
    preview = item.get("preview")
    for part in preview if isinstance(preview, list) else []:
        found += [row(span(f"  {piece}", "command")) for piece in textwrap.wrap(safe(str(part)), max(20, frame.width - 4))]
    found += [
        (),
        row(Span("  A ", "key"), Span("approve", "dim"), Span("   D ", "key"), Span("decline", "dim"),
            span("   each pressed twice; the same as `neuronwatch approve` and `decline`", "dim")),
    ]  # fmt: skip
    return [clipped(part, frame.width) for part in found[: frame.height]]


class Answering:
    """The first press asks, the second one answers."""

    def __init__(self) -> None:
        self._asked: tuple[str, str, float] | None = None

    def key(self, key: str, item: Plain, picture: Picture) -> Request | None:
        what = ANSWERS.get(key.removeprefix("shift+").upper() if key.startswith("shift+") else key)
        if what is None:
            return None
        asked, self._asked = self._asked, (item["id"], what, picture.now)
        if asked is None or asked[:2] != (item["id"], what) or picture.now - asked[2] > AGAIN:
            return Request("say", (f"{key[-1].upper()} again: {what} {item.get('action')} for job {item.get('job')}",))
        self._asked = None
        said = f"{what}d: {item.get('action')} for job {item.get('job')}"
        return Request("call", ("answer", said), (("id", item["id"]), ("answer", what)))
