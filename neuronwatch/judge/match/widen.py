"""Which branches are worth being searched with a widened expression in one text: those whose literals are frequent there
while they themselves are not (`Model \\S+ loaded` in a log full of "loaded")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import hyperscan

from neuronwatch.judge.match.branches import Unit
from neuronwatch.judge.match.confirm import Confirmer, line_text
from neuronwatch.judge.match.cuts import Cuts
from neuronwatch.judge.match.superset import supersets

LINES = 32 * 1024
"""The part of a sample in whose lines frequent units are searched themselves."""


def rarely_found(confirm: Confirmer, units: Sequence[Unit], hot: Mapping[int, int], sample: bytes) -> list[int]:
    """Those of the units `hot` (with the number of their windows in the sample) that are found in few of these places."""
    part = sample[:LINES]
    share = len(sample) / max(1, len(part))
    lines = line_text(part).splitlines()
    return [n for n, count in hot.items() if sum(confirm.holds(units[n], line) for line in lines) * share < count / 3]


def rare_superset(regex: str, sample: bytes, count: int, cuts: Cuts) -> int | None:
    """Which of the widened expressions of a branch is the first that is found in less than a third of `count` places."""
    for index, item in enumerate(supersets(regex)):
        try:
            if cuts.found(item, sample, count) * 3 < count:
                return index
        except hyperscan.error:
            continue
    return None
