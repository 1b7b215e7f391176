"""ECC errors and memory over all devices: sysfs is read device by device, neuron-monitor record by record."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact


def derive(facts: FactsView) -> Iterable[Fact]:
    """The highest figure of any source, since a source may show only some of the devices."""
    for name, of_device, of_record in (
        ("neuron.ecc_uncorrected", "neuron.ecc_device", "neuron.ecc_record"),
        ("neuron.ecc_repairable", "neuron.ecc_repairable_device", ""),
        ("neuron.memory_used", "neuron.memory_device", ""),
    ):
        if name == "neuron.memory_used" and facts.first(name) is not None:
            continue
        found = [*_sums(facts.all(of_device)), *(_reading(fact) for fact in facts.all(of_record) if of_record)]
        if found:
            value, proof = max(found, key=lambda item: item[0])
            yield Fact(name, value, proof.origin, proof.entity)


def _reading(fact: Fact) -> tuple[int, Fact]:
    return (fact.value if isinstance(fact.value, int) else 0), fact


def _sums(readings: Iterable[Fact]) -> Iterable[tuple[int, Fact]]:
    """The sum over the devices of each file; its proof is the first device that contributed."""
    by_path: dict[str, list[tuple[int, Fact]]] = {}
    for fact in readings:
        by_path.setdefault(fact.origin.path, []).append(_reading(fact))
    for parts in by_path.values():
        proof = next((fact for value, fact in parts if value), parts[0][1])
        yield sum(value for value, _ in parts), proof
