"""The diagnosis for a tired person at a terminal: verdict, cause, evidence, fix, confirm, symptoms, what is unknown.

Evidence is hostile text: it is drawn as plain text with control characters made visible, never as markup.
"""

from __future__ import annotations

import os
import re
import sys

from neuronwatch.cli.main import columns
from neuronwatch.cli.report import layout
from neuronwatch.cli.report.layout import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Page, Text
from neuronwatch.cli.report.unjudged import unjudged
from neuronwatch.cli.report.visible import visible
from neuronwatch.model.diagnosis import Diagnosis, Finding, Verdict
from neuronwatch.model.records import Origin

_VERDICT: dict[Verdict, tuple[str, str]] = {
    "fault": ("FAULT", f"{BOLD};{layout.WHITE};{layout.ON_RED}"),
    "warning": ("WARNING", f"{BOLD};{layout.BLACK};{layout.ON_YELLOW}"),
    "healthy": ("HEALTHY", f"{BOLD};{layout.WHITE};{layout.ON_GREEN}"),
    "unknown": ("UNKNOWN", f"{BOLD};{layout.WHITE};{layout.ON_BLUE}"),
}
_SEVERITY = {"critical": f"{BOLD};{RED}", "error": RED, "warning": YELLOW, "info": CYAN}
_MATCH, _SECTION = f"{BOLD};{layout.REVERSE}", f"{BOLD};{layout.UNDERLINE}"
_BLANKS = re.compile(r" {3,}")
SHOWN_EVIDENCE = 4
SHOWN_SYMPTOMS = 5
MAX_SHOWN_TEXT = 400
MIN_WIDTH, MAX_WIDTH = 40, 120


def render(diagnosis: Diagnosis, verbose: bool = False) -> str:
    """The report as text with ANSI colours where stdout is a terminal and NO_COLOR is unset."""
    width = max(MIN_WIDTH, min(MAX_WIDTH, columns()))
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    page = Page(width, colour)
    _Report(page, diagnosis, verbose).draw()
    return page.text()


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Without those that only say again what another one says about the same line."""
    seen: set[tuple[str, int | None]] = set()
    kept = []
    for finding in findings:
        place = (finding.evidence[0].path, finding.evidence[0].line) if finding.evidence else (finding.rule, None)
        if place not in seen:
            kept.append(finding)
        seen.add(place)
    return kept


def _marked(origin: Origin) -> Text:
    """The evidence line with its match marked, cut around the match, long runs of blanks shortened."""
    raw, (first, last) = origin.text.rstrip(), origin.mark or (0, 0)
    start = max(0, first - MAX_SHOWN_TEXT // 2) if len(raw) > MAX_SHOWN_TEXT else 0
    parts = (raw[start:first], raw[max(start, first) : last], raw[max(start, last) : start + MAX_SHOWN_TEXT])
    before, match, after = (_BLANKS.sub("  ", visible(part)) for part in parts)
    text = Text(before.lstrip() if match or before.strip() else "")
    text.append(match if text.plain else match.lstrip(), _MATCH)
    text.append(after if text.plain else after.lstrip())
    return text


class _Report:
    def __init__(self, page: Page, diagnosis: Diagnosis, verbose: bool) -> None:
        self.page = page
        self.diagnosis = diagnosis
        self.verbose = verbose

    def draw(self) -> None:
        causes = [item for item in self.diagnosis.findings if item.role == "cause"]
        symptoms = [item for item in self.diagnosis.findings if item.role == "symptom"]
        notes = [item for item in self.diagnosis.findings if item.role == "note"]
        self._headline(causes)
        for number, finding in enumerate(causes if self.verbose else causes[:3]):
            self._cause(finding, first=number == 0)
        if symptoms:
            self._section("Follows from it" if causes else "What was seen")
            for finding in symptoms if self.verbose else _distinct(symptoms)[:SHOWN_SYMPTOMS]:
                self._short(finding)
        if notes:
            self._section("Worth knowing")
            for finding in notes:
                self._note(finding)
        self._unknown()
        self._sources()

    def _headline(self, causes: list[Finding]) -> None:
        word, style = _VERDICT[self.diagnosis.verdict]
        line = Text()
        line.append(f" {word} ", style)
        line.append("  ")
        if causes:
            line.append(visible(causes[0].title), BOLD)
        else:
            line.append({
                "healthy": "nothing that points to a fault in what was read",
                "unknown": self._why_unknown(),
            }.get(self.diagnosis.verdict, ""), BOLD)  # fmt: skip
        self.page.put(line)

    def _why_unknown(self) -> str:
        for item in self.diagnosis.sources:
            if item.state == "missing" and item.format == "devices":
                return visible(item.reason)
        failed = [item for item in self.diagnosis.sources if item.state == "failed"]
        symptoms = any(item.role == "symptom" for item in self.diagnosis.findings)
        if failed and not symptoms:
            return visible(f"not everything could be read: {failed[0].path}: {failed[0].reason}")
        return "the cause is not in the evidence" if self.diagnosis.sources else "there is nothing to read"

    def _cause(self, finding: Finding, first: bool) -> None:
        if not first:
            self._section(f"Also: {finding.title}")
        meta = Text(f"{finding.fault}  ", DIM)
        meta.append(finding.severity, _SEVERITY[finding.severity])
        meta.append(f"  {finding.confidence:.0%} sure", DIM)
        if finding.entities:
            meta.append("  on " + visible(", ".join(finding.entities)), DIM)
        self._put(meta)
        self.page.put()
        self._put(Text(visible(finding.cause)))
        self._evidence(finding)
        if finding.fix and (first or self.verbose):
            self._section("Fix")
            for number, step in enumerate(finding.fix, 1):
                self._step(f"{number}.", step)
        if finding.confirm and (first or self.verbose):
            self._section("Confirm")
            for step in finding.confirm:
                self._step("-", step)
        if self.verbose and finding.why:
            self._section("Why")
            for why in finding.why:
                self._step("-", why)

    def _evidence(self, finding: Finding) -> None:
        if not finding.evidence:
            return
        self._section("Evidence")
        shown = finding.evidence if self.verbose else finding.evidence[:SHOWN_EVIDENCE]
        for origin in shown:
            self._origin(origin)
        if len(finding.evidence) > len(shown):
            self._put(Text(f"and {len(finding.evidence) - len(shown)} more (-v)", DIM))

    def _origin(self, origin: Origin) -> None:
        where = visible(origin.path) + (f":{origin.line}" if origin.line is not None else "")
        self._put(Text(where, CYAN))
        text = _marked(origin)
        if text.plain:
            self._put(text, 4)

    def _step(self, bullet: str, step: str) -> None:
        """A step with a hanging indent; commands stand out by colour, without colour by their backticks."""
        text = Text()
        for index, part in enumerate(visible(step).split("`")):
            inside = index % 2 == 1
            text.append(part if self.page.colour or not inside else f"`{part}`", GREEN if inside else "")
        self.page.put(text, 2, bullet)

    def _short(self, finding: Finding) -> None:
        line = Text(visible(finding.title))
        if finding.fault:
            line.append(f"  {finding.fault}", DIM)
        self._put(line)
        for origin in finding.evidence[:1]:
            self._origin(origin)

    def _note(self, finding: Finding) -> None:
        self._put(Text(visible(finding.title), BOLD))
        self._put(Text(visible(finding.cause)), 4)
        for origin in finding.evidence[:1]:
            self._origin(origin)

    def _unknown(self) -> None:
        unknown = unjudged(self.diagnosis, self.verbose)
        if unknown:
            self._section("Not judged")
        for item in unknown:
            self._step("?", item)

    def _sources(self) -> None:
        sources = self.diagnosis.sources
        odd = [item for item in sources if item.state not in ("read", "fresh") or item.reason]
        self.page.put()
        line = Text(f"{len(sources)} source{'s' if len(sources) != 1 else ''} read", DIM)
        if odd:
            line.append(f", {len(odd)} with a remark", DIM)
        self.page.put(line)
        for item in sources if self.verbose else odd[:6]:
            text = f"{visible(item.path)}  {item.format}  {item.state}" + (f": {visible(item.reason)}" if item.reason else "")
            self._put(Text(text, DIM))
        if self.verbose:
            self._section("Facts")
            for name, value in self.diagnosis.facts.items():
                self._put(Text(visible(f"{name} = {value}"[:300])))

    def _section(self, title: str) -> None:
        self.page.put()
        self.page.put(Text(visible(title), _SECTION))

    def _put(self, text: Text, indent: int = 2) -> None:
        self.page.put(text, indent)
