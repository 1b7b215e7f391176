"""The verdict of `status`: what is known now, and whether everything that must be seen is seen."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.model.diagnosis import Verdict
from neuronwatch.model.live import Condition, Health


def verdict(
    conditions: Iterable[Condition], healths: Iterable[Health], blind: Iterable[str] = ()
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and why, in sentences. A known fault counts before blindness, blindness before a warning: what is not seen
    may be worse. `blind`: further reasons why something could not be read."""
    told = list(conditions)
    causes = [item for item in told if item.state == "true" and item.finding.role == "cause"]
    faults = [item.finding.title for item in causes if item.finding.severity in ("error", "critical")]
    if faults:
        return "fault", tuple(faults)
    unseen = [f"source {item.source} is {item.state}" + (f": {item.reason}" if item.reason else "")
              for item in healths if item.mandatory and item.state != "fresh"]  # fmt: skip
    unseen += [f"{item.finding.title}: {item.reason}" for item in told if item.state == "unknown" and item.finding.role == "cause"]
    symptoms = [item.finding.title for item in told if item.state != "false" and item.finding.role == "symptom"]
    if not causes:
        unseen += [f"a failure without its cause: {title}" for title in symptoms]
    unseen += blind
    if unseen:
        return "unknown", tuple(dict.fromkeys(unseen))
    return ("warning", tuple(item.finding.title for item in causes)) if causes else ("healthy", ())
