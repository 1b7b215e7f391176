"""Installed packages as the derivations see them: one environment per listing, since a host, a container and a second venv
may each have their own set."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.data import releases
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin, Value

NEURON_PYTHON = (
    "neuronx-cc", "torch-neuronx", "libneuronxla", "neuronx-distributed", "neuronx-distributed-inference",
    "neuronx-distributed-training", "transformers-neuronx", "jax-neuronx", "nki", "vllm-neuron",
)  # fmt: skip
"""Neuron packages of a Python environment that come from one SDK release."""


class Environment:
    """The packages of one listing: normal name -> reading. A name that is listed with several versions is left out of
    `packages` (several venvs in one file) and kept in `unclear`."""

    def __init__(self, path: str, readings: list[tuple[str, Fact]]) -> None:
        self.path = path
        versions: dict[str, dict[str, Fact]] = {}
        for name, reading in readings:
            versions.setdefault(name, {}).setdefault(_plain(str(reading.value)), reading)
        self.packages = {name: next(iter(found.values())) for name, found in versions.items() if len(found) == 1}
        self.unclear = frozenset(name for name, found in versions.items() if len(found) > 1)

    def version(self, package: str) -> str | None:
        reading = self.packages.get(package)
        return None if reading is None else str(reading.value)

    def origin(self, package: str) -> Origin:
        return self.packages[package].origin


def _plain(version: str) -> str:
    return version.split("+")[0]


def environments(facts: FactsView) -> list[Environment]:
    """One environment for each file that lists packages. Files with a single package (log lines, image tags) are read
    together with the first listing that lacks that package, or form one environment among themselves."""
    by_path: dict[str, list[tuple[str, Fact]]] = {}
    for name, readings in facts.with_prefix("pkg.").items():
        package = releases.normal(name[len("pkg.") :])
        for reading in readings:
            if isinstance(reading.value, str):
                by_path.setdefault(reading.origin.path, []).append((package, reading))
    listings = {path: found for path, found in by_path.items() if len({name for name, _ in found}) > 1}
    single = [item for path, found in sorted(by_path.items()) if path not in listings for item in found]
    if not listings:
        return [Environment("", single)] if single else []
    made = [Environment(path, found) for path, found in sorted(listings.items())]
    first = made[0]
    for name, reading in single:
        if name not in first.packages and name not in first.unclear:
            first.packages[name] = reading
    return made


def everything(facts: FactsView) -> Iterator[tuple[str, Fact]]:
    """All readings of all packages: normal name and fact."""
    for name, readings in facts.with_prefix("pkg.").items():
        for reading in readings:
            if isinstance(reading.value, str):
                yield releases.normal(name[len("pkg.") :]), reading


def first_text(facts: FactsView, *names: str) -> Fact | None:
    """The first of these facts that has a text value."""
    for name in names:
        found = facts.first(name)
        if found is not None and isinstance(found.value, str) and found.value:
            return found
    return None


def number(value: Value) -> int | None:
    """A whole number, else None; booleans, NaN, infinity and what no machine counts to are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_MOST <= value <= _MOST:
        return None
    return int(value)


_MOST = 1 << 80
"""Arithmetic with greater ones (a config.json may hold four thousand digits) overflows where it meets a float."""
