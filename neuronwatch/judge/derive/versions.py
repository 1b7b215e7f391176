"""Which driver and which runtime are in force."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.derive._packages import everything
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact


def derive(facts: FactsView) -> Iterable[Fact]:
    driver = _driver(facts)
    if driver is not None:
        yield Fact("driver.version", driver.value, driver.origin)
    if facts.get("driver.package") is None:
        for name, reading in everything(facts):
            if name in ("aws-neuronx-dkms", "aws-neuron-dkms"):
                yield Fact("driver.package", reading.value, reading.origin)
                break
    if facts.get("runtime.version") is None:
        for name, reading in everything(facts):
            if name == "aws-neuronx-runtime-lib":
                yield Fact("runtime.version", reading.value, reading.origin)
                break


def _driver(facts: FactsView) -> Fact | None:
    """The loaded module counts, then what the runtime found, then the package, then the file on disk. A kernel log may show
    several loads: the last one of the first file is in force."""
    loaded = [item for item in facts.all("driver.loaded") if item.value is not None]
    if loaded:
        return [item for item in loaded if item.origin.path == loaded[0].origin.path][-1]
    for name in ("runtime.found_driver", "driver.package", "driver.on_disk"):
        found = facts.first(name)
        if found is not None:
            return found
    return None
