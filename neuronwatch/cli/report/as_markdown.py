"""The diagnosis as Markdown for a ticket. Evidence stands in fenced blocks that its own text cannot close."""

from __future__ import annotations

import re

from neuronwatch.cli.report.unjudged import unjudged
from neuronwatch.cli.report.visible import visible
from neuronwatch.model.diagnosis import Diagnosis, Finding
from neuronwatch.model.records import Origin


def render(diagnosis: Diagnosis, verbose: bool = False) -> str:
    """GitHub-flavoured Markdown."""
    causes = [item for item in diagnosis.findings if item.role == "cause"]
    rest = [item for item in diagnosis.findings if item.role != "cause"]
    title = causes[0].title if causes else {"healthy": "nothing found"}.get(diagnosis.verdict, "cause not in the evidence")
    lines = [f"## neuronwatch: {diagnosis.verdict}: {plain_text(title)}", ""]
    for finding in causes if verbose else causes[:3]:
        lines += _cause(finding)
    if rest:
        lines += ["### Also seen", ""]
        for finding in rest if verbose else rest[:8]:
            where = "".join(f" ({_code(_where(origin))})" for origin in finding.evidence[:1])
            lines.append(f"- {finding.role}: {plain_text(finding.title)}{where}")
        lines.append("")
    unknown = unjudged(diagnosis, verbose)
    if unknown:
        lines += ["### Not judged", "", *[f"- {plain_text(item)}" for item in unknown], ""]
    remarks = [item for item in diagnosis.sources if item.reason]
    if remarks:
        lines += ["### Sources", "", *[f"- {_code(item.path)}: {item.state}: {plain_text(item.reason)}" for item in remarks], ""]
    return "\n".join(lines).rstrip() + "\n"


def _cause(finding: Finding) -> list[str]:
    lines = [f"**{plain_text(finding.title)}** `{finding.fault}` ({finding.severity}, {finding.confidence:.0%} sure)", "",
             plain_text(finding.cause), ""]  # fmt: skip
    if finding.evidence:
        body = "\n".join(visible(f"{_where(origin)}: {origin.text.strip()[:500]}") for origin in finding.evidence[:6])
        fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", body)), default=0) + 1)
        lines += [fence + "text", body, fence, ""]
    if finding.fix:
        lines += ["Fix:", "", *[f"{number}. {step}" for number, step in enumerate(finding.fix, 1)], ""]
    if finding.confirm:
        lines += ["Confirm:", "", *[f"- {step}" for step in finding.confirm], ""]
    return lines


def _where(origin: Origin) -> str:
    return origin.path + (f":{origin.line}" if origin.line is not None else "")


def plain_text(text: str) -> str:
    """Text without Markdown or HTML meaning."""
    return re.sub(r"([<>|*_\[\]#`])", r"\\\1", visible(" ".join(text.split("\n"))))


def _code(text: str) -> str:
    return "`" + visible(text).replace("`", "?") + "`"
