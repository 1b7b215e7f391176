"""Which devices, cores and ranks a finding is about: from the lines that fired and the facts that were used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact

MOST = 256
_IN_LINES = (
    re.compile(r"\[(?:ND|MLA) ?(\d{1,3})\](?: ?\[NC ?(\d{1,2})\])?"),
    re.compile(r"\bnd-id=(\d{1,3})(?: nc-id=(\d{1,2}))?\b"),
    re.compile(r"\bNeuron [Dd]evice:? (\d{1,3})(?: NC |:)(\d{1,2})\b"),
    re.compile(r"\bnd(\d{1,3}):(?:nc(\d{1,2})\b)?"),
    re.compile(r"/neuron(\d{1,3})/(?:stats/|info/|neuron_core(\d{1,2})/)"),
)
_IN_VALUES = re.compile(r"nd\d{1,3}(?::nc\d{1,2})?(?![\w.])")
PARTS = {
    "neuron.ecc_uncorrected": "neuron.ecc_device",
    "neuron.ecc_repairable": "neuron.ecc_repairable_device",
}
"""A sum over devices, and the readings that it is made of."""
LISTS = ("neuron.unhealthy", "neuron.core_errors")
"""Facts whose values name devices."""


def of_line(text: str) -> str:
    """`nd0`, `nd0:nc1` or ""."""
    for pattern in _IN_LINES:
        found = pattern.search(text)
        if found:
            device, core = found.groups()
            return f"nd{int(device)}" if core is None else f"nd{int(device)}:nc{int(core)}"
    return ""


def of_facts(used: Iterable[Fact], facts: FactsView) -> Iterator[str]:
    """The entities of facts: their own, those of the parts of a sum, and those that a value names."""
    for fact in used:
        parts = [part for part in facts.all(PARTS[fact.name]) if part.value] if fact.name in PARTS else []
        yield from (part.entity for part in parts)
        if fact.entity and not parts:
            yield fact.entity
        if fact.name in LISTS:
            values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
            yield from (found.group() for value in values if (found := _IN_VALUES.match(str(value))))


def in_order(found: Iterable[str]) -> tuple[str, ...]:
    """Each once, numbers by size; a device without core is left out where one of its cores is named."""
    names = {name for name in found if name}
    named = {name.partition(":")[0] for name in names if ":nc" in name}
    return tuple(sorted(names - named, key=_natural)[:MOST])


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    return tuple((word, int(number or -1)) for word, number in re.findall(r"([^\d]+)(\d*)", name))
