"""What a report says it could not judge: the same in every form that people read."""

from __future__ import annotations

from neuronwatch.model.diagnosis import Diagnosis

SURE = 0.75
"""With a cause this sure, what else could not be judged is only shown by -v."""
SHOWN = 4


def unjudged(diagnosis: Diagnosis, verbose: bool) -> list[str]:
    if verbose:
        return _apart_from_sources(diagnosis)
    if any(item.role == "cause" and item.confidence >= SURE for item in diagnosis.findings):
        return []
    return _apart_from_sources(diagnosis)[:SHOWN]


def _apart_from_sources(diagnosis: Diagnosis) -> list[str]:
    """Sources that failed stand under the sources anyway."""
    said = {f"{item.path}: {item.reason}" for item in diagnosis.sources}
    return [item for item in diagnosis.unknown if item not in said]
