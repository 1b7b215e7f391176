"""The status for people: one line first, then what lasts, then the sources. Text for a terminal or Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from neuronwatch.cli.report.fit import fit
from neuronwatch.cli.report.visible import visible
from neuronwatch.tui.draw.glyphs import ASCII, UNICODE
from neuronwatch.tui.pages import overview

if TYPE_CHECKING:
    from neuronwatch.tui.view.picture import Picture

_FILES = {"directory": "state directory", "conditions": "judge.json", "journal": "journal", "history": "history"}
_COLOUR = {"healthy": "32", "warning": "33", "fault": "31", "unknown": "35", "true": "31", "fresh": "32"}


def render(picture: Picture, document: dict[str, Any], form: str) -> str:
    """`document`: what JSON has of the picture."""
    glyphs = UNICODE if "utf" in (sys.stdout.encoding or "").lower() else ASCII
    figures = overview.text(picture, glyphs) if document["daemon"] is not None else []
    lines = _markdown(document, figures) if form == "markdown" else fit(_text(document, figures, _colour()))
    return "\n".join(lines) + "\n"


def _colour() -> bool:
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def ago(seconds: float) -> str:
    """`4 s`, `3 min`, `2 h`, `5 d`."""
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def _text(document: dict[str, Any], figures: list[str], colour: bool) -> Iterator[str]:
    def dyed(word: str, shown: str) -> str:
        return f"\x1b[{_COLOUR.get(word, '0')}m{shown}\x1b[0m" if colour else shown

    now, verdict = document["time"], document["verdict"]
    reasons = document["reasons"]
    yield f"{dyed(verdict, verdict.upper())}  {visible('; '.join(reasons[:2]))}".rstrip()
    if figures:
        yield ""
        yield from (f"  {visible(line)}" for line in figures)
    for item in document["incidents"]:
        age = ago(now - item["opened"])
        yield ""
        yield f"  {visible(item['id'])}  {item['severity']}  {item['state']} for {age}  {visible(item['title'])}"
        yield f"    {item['fault'] or '(cause not known)'}"
        for finding in item["findings"][:1]:
            for place in finding["evidence"][:2]:
                where = place["path"] + (f":{place['line']}" if place["line"] else "")
                yield f"    {visible(where)}  {visible(place['text'].strip()[:160])}"
            for step in finding["fix"][:1]:
                yield f"    fix: {visible(step)}"
        yield f"    more: neuronwatch incidents show {visible(item['id'])}"
    shown = {part["key"] for item in document["incidents"] for part in item["conditions"]}
    rest = [item for item in document["conditions"] if item["key"] not in shown]
    for item in rest:
        note = f" (unknown: {item['reason']})" if item["state"] == "unknown" else ""
        yield f"  {item['finding']['role']}: {visible(item['finding']['title'] + note)}"
    if document["sources"]:
        yield ""
        width = max(len(item["name"]) for item in document["sources"])
        for item in document["sources"]:
            age = "" if item["age"] is None else f"{ago(item['age'])} ago"
            reason = visible(item["reason"])
            yield f"  {item['name']:<{width}}  {dyed(item['state'], format(item['state'], '<8'))}  {age:<10}  {reason}".rstrip()
    daemon = document["daemon"]
    if daemon is not None:
        yield from (f"  ? {visible(item)}" for item in document["unknown"][:5])
        yield ""
        yield f"  daemon {daemon['version']}, pid {daemon['pid']}, for {ago(now - daemon['started'])}, {daemon['rules']} rules"
        if daemon["reload"]:
            yield f"  not reloaded: {visible(daemon['reload'])}"
        for name in ("directory", "conditions", "journal", "history"):
            kept = daemon.get(name, {"state": "ok"})
            if kept["state"] not in ("ok", "off"):
                yield f"  {_FILES[name]}: {kept['state']}, {visible(kept['reason'])}"


def _markdown(document: dict[str, Any], figures: list[str]) -> Iterator[str]:
    yield f"# Status: {document['verdict']}"
    for place, reason in enumerate(document["reasons"]):
        yield from ([""] if place == 0 else [])
        yield f"- {cell(reason)}"
    if figures:
        yield ""
        yield from (f"- {cell(line)}" for line in figures)
    if document["incidents"]:
        yield from ("", "| incident | severity | state | fault | what |", "|---|---|---|---|---|")
        for item in document["incidents"]:
            yield f"| {cell(item['id'])} | {item['severity']} | {item['state']} | {cell(item['fault'])} | {cell(item['title'])} |"
    if document["sources"]:
        yield from ("", "| source | state | age | reason |", "|---|---|---|---|")
        for item in document["sources"]:
            age = "" if item["age"] is None else ago(item["age"])
            yield f"| {cell(item['name'])} | {item['state']} | {age} | {cell(item['reason'])} |"


def cell(text: str) -> str:
    """A text in a cell of a Markdown table: no markup, no end of the cell."""
    return "".join("\\" + char if char in "\\`*_{}[]<>()#+-!|~" else char for char in visible(text))
