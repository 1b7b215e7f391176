"""What differs from the lock file: one line per fact that the evidence states otherwise. What it does not state is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from neuronwatch.data.releases import normal
from neuronwatch.judge.derive._packages import environments
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin, Value

PREFIX = "locked."
WHOLE = 10
"""An environment with at least so many packages is a whole listing: what it lacks is not installed."""


class Difference(NamedTuple):
    """`fact` is what differs; `found` is "not installed" for a package that a whole listing lacks."""

    fact: str
    locked: str
    found: str
    locked_at: Origin
    found_at: Origin

    def __str__(self) -> str:
        return f"{self.fact}: locked {self.locked}, found {self.found}"


class Comparison(NamedTuple):
    """Facts as locked, differences, and locked facts that the evidence says nothing about."""

    same: tuple[str, ...]
    differ: tuple[Difference, ...]
    unknown: tuple[str, ...]


def derive(facts: FactsView) -> Iterable[Fact]:
    if facts.get("lock.file") is None:
        return
    result = compare(facts)
    if result.differ:
        yield Fact("lock.drift", tuple(str(item) for item in result.differ), result.differ[0].found_at)
    elif result.same:
        origin = facts.first("lock.file").origin  # type: ignore[union-attr]  # asked for above
        yield Fact("lock.drift", (), origin)


def compare(facts: FactsView) -> Comparison:
    """The lock in the facts against the other facts."""
    same, differ, unknown = [], [], []
    for name, readings in sorted(facts.with_prefix(PREFIX).items()):
        locked = next((item for item in readings if item.value is not None), None)
        if locked is None:
            continue
        base = name[len(PREFIX) :]
        current = [item for item in facts.all(base) if item.value is not None]
        if not current:
            missing = _missing(facts, base)
            if missing is not None:
                differ.append(Difference(base, str(locked.value), "not installed", locked.origin, missing))
            else:
                unknown.append(base)
        elif any(_equal(locked.value, item.value) for item in current):
            same.append(base)
        else:
            found = " and ".join(dict.fromkeys(str(item.value) for item in current[:3]))
            differ.append(Difference(base, str(locked.value), found, locked.origin, current[0].origin))
    return Comparison(tuple(same), tuple(differ), tuple(unknown))


def _equal(locked: Value, found: Value) -> bool:
    """Equal values; numbers by value, versions without a build tag that only one of them has."""
    if isinstance(locked, (int, float)) and isinstance(found, (int, float)):
        return float(locked) == float(found)
    one, other = str(locked), str(found)
    if ("+" in one) != ("+" in other):
        one, other = one.split("+")[0], other.split("+")[0]
    return one == other


def _missing(facts: FactsView, base: str) -> Origin | None:
    """Where a whole listing with another locked package of the same kind lacks this one."""
    if not base.startswith("pkg.") or re.match(r"^pkg\.(?:aws_neuron|efa|libfabric|dkms|docker|containerd)", base):
        return None  # system packages are listed apart, and often only a part of them
    package = normal(base[len("pkg.") :])
    for item in environments(facts):
        if len(item.packages) >= WHOLE and package not in item.packages and package not in item.unclear:
            shared = [name for name in item.packages if facts.get(f"{PREFIX}pkg.{name.replace('-', '_')}") is not None]
            if shared:
                return Origin(item.path, None, f"{len(item.packages)} packages, no {package}")
    return None
