"""The verdict of `status`: what is known now, and whether everything that must be seen is seen."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.model.diagnosis import Verdict
from neuronwatch.model.live import Condition, Health

UNREADABLE = ("missing", "failed", "stale")
PATIENCE = 90.0
"""Seconds that a source must be lost before that is an outage: a driver that is reloaded takes its tree along, tools are upgraded.
It is more than what the absence of the driver must last to be told as such. For the verdict a mandatory one counts at once."""
TOOLS = frozenset(("neuron-monitor", "neuron-ls", "kernel-log", "processes"))
"""Sources that are not taken away on a healthy host once they were there."""
ALONE = frozenset(("kernel-log", "runtime-log", "processes", "driver"))
"""Sources that tell of faults what no other one tells. What the Neuron tools tell of faults is in the driver's tree too."""


def outage(item: Health, wall: float) -> bool:
    """Whether a source that is there, or was, has not been readable for a while. A tool that was never installed, a log that never
    was, is none: `sources` says so."""
    if item.state not in UNREADABLE or wall - item.since < PATIENCE:
        return False
    return item.mandatory or item.state != "missing" or (item.last is not None and item.source in TOOLS)


def verdict(
    conditions: Iterable[Condition], healths: Iterable[Health], blind: Iterable[str] = (), wall: float = 0.0
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and why, in sentences. A known fault counts before blindness, blindness before a warning: what is not seen
    may be worse. `blind`: further reasons why something could not be read. `wall`: now, seconds since the epoch."""
    told, sources = list(conditions), list(healths)
    causes = [item for item in told if item.state == "true" and item.finding.role == "cause"]
    faults = [item.finding.title for item in causes if item.finding.severity in ("error", "critical")]
    if faults:
        return "fault", tuple(faults)
    lost = [item for item in sources if not item.mandatory and outage(item, wall)]
    unseen = [_words(item) for item in sources if item.mandatory and item.state != "fresh"]
    unseen += [_words(item) for item in lost if item.source in ALONE]
    unseen += [f"{item.finding.title}: {item.reason}" for item in told if item.state == "unknown" and item.finding.role == "cause"]
    symptoms = [item.finding.title for item in told if item.state != "false" and item.finding.role == "symptom"]
    if not causes:
        unseen += [f"a failure without its cause: {title}" for title in symptoms]
    unseen += blind
    if unseen:
        return "unknown", tuple(dict.fromkeys(unseen))
    worth_a_look = (*(item.finding.title for item in causes), *map(_words, lost))
    return ("warning", worth_a_look) if worth_a_look else ("healthy", ())


def _words(item: Health) -> str:
    return f"source {item.source} is {item.state}" + (f": {item.reason}" if item.reason else "")
