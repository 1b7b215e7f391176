"""The report of a job for people, from its document: as text for a terminal, or as Markdown for a ticket."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from neuronwatch.cli.report.as_markdown import plain_text
from neuronwatch.cli.report.status_text import ago
from neuronwatch.cli.report.visible import visible
from neuronwatch.tui.draw.curve import short
from neuronwatch.tui.draw.glyphs import ASCII, UNICODE, level

WIDTH = 48
"""Columns of a curve."""
Line = tuple[str, str]
"""What kind of line (title, section, text, item, step, quote, code) and its text."""
SHOWN_CAUSES, SHOWN_EVIDENCE, SHOWN_SYMPTOMS, LONGEST = 2, 4, 3, 300


def render(document: dict[str, Any], markdown: bool = False, ascii_only: bool = False) -> str:
    """`document`: of run_document.py."""
    lines = [*_head(document), *_runs(document), *_curves(document, ascii_only), *_judged(document), *_remedies(document),
             *_account(document), *_for_good(document)]  # fmt: skip
    text = "\n".join(_markdown(lines) if markdown else _text(lines)) + "\n"
    return text.encode("ascii", "replace").decode() if ascii_only else text


def _text(lines: Sequence[Line]) -> Iterator[str]:
    marks = {"title": "", "section": "  ", "text": "  ", "item": "  - ", "step": "    ", "quote": "      ", "code": "    "}
    for kind, text in lines:
        yield marks[kind] + visible(text)


def _markdown(lines: Sequence[Line]) -> Iterator[str]:
    fenced = False
    for kind, text in lines:
        if (kind in ("quote", "code")) != fenced:
            fenced = not fenced
            yield "```text" if fenced else "```"
        if fenced:
            yield visible(text).replace("```", "'''")
        elif kind in ("title", "section"):
            yield from (f"{'##' if kind == 'title' else '###'} {plain_text(text)}", "")
        elif kind in ("item", "step"):
            yield f"{'- ' if kind == 'item' else ''}{plain_text(text)}"
        else:
            yield from (plain_text(text), "")
    if fenced:
        yield "```"


def _head(document: dict[str, Any]) -> Iterator[Line]:
    words = {"done": "done", "stopped": "was told to end", "failed": "failed", "unknown": "ended, nobody knows how"}
    how = words[document["status"]]
    seconds = f" after {ago(document['seconds'])}" if document["seconds"] is not None else ""
    code = f" (exit status {document['exit']}{': ' + document['reason'] if document['reason'] else ''})"
    times = {0: "", 1: ", restarted once"}.get(document["restarts"], f", restarted {document['restarts']} times")
    yield "title", f"job {document['job']}: {how}{seconds}{code if document['exit'] else ''}{times}"


def _runs(document: dict[str, Any]) -> Iterator[Line]:
    yield "code", document["command"][:LONGEST]
    if len(document["runs"]) > 1:
        yield "section", "Runs"
    for run in document["runs"][-10:] if len(document["runs"]) > 1 else ():
        began = time.strftime("%H:%M:%S", time.localtime(run["began"])) if run["began"] else "?"
        lived = ago(run["ended"] - run["began"]) if run["ended"] and run["began"] else "?"
        end = "unknown" if run["exit"] is None else run["exit"]
        why = f"; started because: {run['why']}" if run["why"] else ""
        yield "item", f"{run['number']}: {began}, {lived}, exit status {end}{why}"


def _curves(document: dict[str, Any], ascii_only: bool) -> Iterator[Line]:
    if document["curves"]:
        yield "section", "Curves"
    for name, points in document["curves"].items():
        values = [value for _, value in points]
        known = [value for value in values if value is not None]
        if not known:
            continue
        low, high = min(known), max(known)
        glyphs = ASCII if ascii_only else UNICODE
        step = max(1, -(-len(values) // WIDTH))
        bars = "".join("?" if value is None else level(glyphs, 0.06 + 0.94 * ((value - low) / (high - low) if high > low else 0.5))
                       for value in values[::step])  # fmt: skip
        last = "not a number" if values[-1] is None else short(values[-1])
        yield "code", f"{name:<14} {bars}  {short(known[0])} to {last} (least {short(low)}, most {short(high)})"


def _judged(document: dict[str, Any]) -> Iterator[Line]:
    causes = [item for item in document["findings"] if item["role"] == "cause"]
    symptoms = [item for item in document["findings"] if item["role"] == "symptom"]
    for item in causes[:SHOWN_CAUSES]:
        yield "section", f"Cause: {item['title']}"
        yield "text", f"{item['fault']}, {item['severity']}, {item['confidence']:.0%} sure"
        yield "text", item["cause"]
        yield from _evidence(item, SHOWN_EVIDENCE)
        for number, step in enumerate(item["fix"], 1):
            yield "step", f"{number}. {step}"
    if symptoms and not causes:
        yield "section", "What was seen"
        for item in symptoms[:SHOWN_SYMPTOMS]:
            yield "text", item["title"]
            yield from _evidence(item, 1)
    if not causes and document["verdict"] == "unknown" and document["status"] != "stopped":
        yield "text", "The cause is not in what the job wrote." + (f" {document['unknown'][0]}" if document["unknown"] else "")


def _evidence(finding: dict[str, Any], most: int) -> Iterator[Line]:
    for place in finding["evidence"][:most]:
        where = place["path"] + (f":{place['line']}" if place["line"] else "")
        yield "quote", f"{where}  {place['text'].strip()[:LONGEST]}"


def _remedies(document: dict[str, Any]) -> Iterator[Line]:
    if document["remedies"]:
        yield "section", "Remedies"
    for item in document["remedies"]:
        took = ""
        if item["t_verified"] is not None and item["t_fault"] is not None:
            took = f" after {ago(item['t_verified'] - item['t_fault'])}"
        why = f": {item['why']}" if item["why"] else ""
        yield "item", f"{item['action']} for {item['fault'] or 'a failure'}: {item['result']}{took}{why}"
        for change in item["diff"]:
            yield "code", _change(change)


def _change(change: dict[str, Any]) -> str:
    old, new = ("(absent)" if value is None else value for value in (change["old"], change["new"]))
    return f"{change['where']} {change['name']}: {old} -> {new}{'  (' + change['words'] + ')' if change['words'] else ''}"


def _account(document: dict[str, Any]) -> Iterator[Line]:
    lost, cost = document["lost"], document["cost"]
    if document["restarts"]:
        yield "text", f"Time lost: {ago(lost['between'])} between runs, {ago(lost['failed_runs'])} in runs that failed."
    if cost["total"] is not None:
        each = cost["per_million_tokens"]
        rate = f"{each:.4g} per million tokens" if each is not None else "per million tokens: not known, it told no tokens/s"
        yield "text", f"Cost: {cost['total']:.4g} at {cost['price_per_hour']:g} an hour; {rate}."


def _for_good(document: dict[str, Any]) -> Iterator[Line]:
    if document["suggested"]:
        yield "section", "Change for good"
        for change in document["suggested"]:
            yield "code", _change(change)
