"""What each optimum-neuron release asks of its neighbours (table `optimum_neuron`)."""

from __future__ import annotations

import re

from neuronwatch.data import tables
from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.version import Version


@dataclass(frozen=True)
class Pins:
    """`pins`: package -> alternatives, one of which must hold; `python` is a range or None."""

    version: str
    sdk: str | None
    python: str | None
    pins: dict[str, tuple[str, ...]]


def pins_of(version: str) -> Pins | None:
    """The pins of that release; None for a development version or one that is newer than the data."""
    if re.search(r"dev|rc", version):
        return None
    have = Version(version)
    for row in tables.load("optimum_neuron").rows:
        if Version(row["version"]) == have:
            pins = {name: tuple(specs) for name, specs in row["pins"].items()}
            return Pins(row["version"], row.get("sdk"), row.get("python"), pins)
    return None


def never_released(version: str) -> bool:
    """A version that is in no line of releases: its major number is above any (4.41.2.1.1.12.0)."""
    newest = max((Version(row["version"]) for row in tables.load("optimum_neuron").rows), default=Version("0"))
    return len(Version(version).parts) >= 5 or Version(version).parts[:1] > (newest.parts[0] + 1,)
