from __future__ import annotations

from neuronwatch.judge.derive.devices import derive
from neuronwatch.judge.detectors.utilisation import detect
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.records import Fact, Origin, Sample


def samples(values: dict[str, list[float]]) -> SeriesView:
    return SeriesView(
        Sample("utilisation", value, Origin("monitor.json", line), unit="%", entity=core)
        for core, series in values.items()
        for line, value in enumerate(series, start=1)
    )


def test_levels_of_cores() -> None:
    found = {fact.name: fact for fact in detect(samples({"nd0:nc0": [0.0, 90.0, 92.0], "nd0:nc1": [0.0, 0.0, 95.5]}), FactsView())}
    assert found["neuron.utilisation_max"].value == 95.5
    assert (found["neuron.utilisation_min"].value, found["neuron.utilisation_min"].entity) == (0.0, "nd0:nc1")
    assert found["neuron.utilisation_idle_cores"].value == 1
    assert found["neuron.cores_in_use"].value == 2


def test_no_samples_no_facts() -> None:
    assert list(detect(SeriesView(), FactsView())) == []


def test_ecc_of_devices_and_records() -> None:
    view = FactsView(
        [
            Fact("neuron.ecc_device", 0, Origin("a.txt", 1), "nd0"),
            Fact("neuron.ecc_device", 2, Origin("a.txt", 9), "nd1"),
            Fact("neuron.ecc_device", 1, Origin("b.txt", 1), "nd1"),
            Fact("neuron.ecc_record", 1, Origin("m.json", 1)),
        ]
    )
    (fact,) = derive(view)
    assert (fact.name, fact.value, fact.entity, fact.origin.line) == ("neuron.ecc_uncorrected", 2, "nd1", 9)


def test_one_core_far_from_all_others() -> None:
    alike = {f"nd0:nc{core}": [41.0 + core, 42.0 + core, 41.5 + core] for core in range(5)}
    apart = {**alike, "nd1:nc0": [98.0, 98.5, 99.0]}
    found = {fact.name: fact.value for fact in detect(samples(apart), FactsView())}
    assert found["neuron.core_apart"] == "nd1:nc0"
    for same in (
        alike,
        {**alike, "nd1:nc0": [98.0, 44.0, 99.0]},
        {**alike, "nd1:nc0": [0.0, 0.0, 0.0]},
        {"nd0:nc0": [1.0, 90.0, 3.0]},
    ):
        assert "neuron.core_apart" not in {fact.name for fact in detect(samples(same), FactsView())}


def test_a_core_that_the_monitor_no_longer_lists_is_not_in_use() -> None:
    def record(line: int, time: float, **cores: float) -> list[Sample]:
        origin = Origin("host:neuron-monitor", line)
        memory = Sample("host_memory", 8e9, origin, unit="bytes", time=time)
        return [
            memory,
            *(Sample("utilisation", value, origin, unit="%", entity=f"nd0:{core}", time=time) for core, value in cores.items()),
        ]

    def facts(samples: list[Sample]) -> dict[str, object]:
        return {fact.name: fact.value for fact in detect(SeriesView(samples), FactsView())}

    both = [sample for minute in range(10) for sample in record(minute + 1, 60.0 * minute, nc0=70.0, nc1=71.0)]
    one = [sample for minute in range(10, 14) for sample in record(minute + 1, 60.0 * minute, nc0=98.0)]
    none = [sample for minute in range(14, 20) for sample in record(minute + 1, 60.0 * minute)]
    assert facts(both)["neuron.cores_in_use"] == facts(both + one[:2])["neuron.cores_in_use"] == 2
    assert facts(both + one)["neuron.cores_in_use"] == 1
    assert facts(both + one + none) == {"neuron.cores_in_use": 0}
