from __future__ import annotations

from hypothesis import given
from parse_support import check_golden, check_never_raises, check_prefixes, damaged, facts, fixture, records, samples

from neuronwatch.parse.neuron_top import FORMAT

FOLDER = "neuron_top"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_grid() -> None:
    found = records(FORMAT, fixture("neuron_top/t5-trn2.txt"))
    values = samples(found, "utilisation")
    assert len(values) == 64
    assert (values[5].entity, values[5].unit) == ("nd1:nc1", "%")
    assert facts(found)["host.instance_type"] == "trn2.48xlarge"
    assert facts(found)["pkg.aws_neuronx_tools"] == "2.24.54.0"


def test_full_utilisation_has_no_decimals() -> None:
    assert samples(records(FORMAT, fixture("neuron_top/t5-inf2-xlarge.txt")), "utilisation")[0].value == 100.0


def test_flops_mode_has_no_utilisation() -> None:
    found = records(FORMAT, fixture("neuron_top/t5-trn1-flops.txt"))
    assert samples(found, "utilisation") == []
    assert samples(found, "tflops")[0].value == 9.879


def test_text_screens_of_1x() -> None:
    found = records(FORMAT, fixture("neuron_top/t1a-inf1.txt"))
    assert [sample.entity for sample in samples(found, "utilisation")][3:5] == ["nd0:nc3", "nd1:nc0"]
    assert samples(found, "utilisation")[0].time == 1591184527.0
    assert facts(records(FORMAT, fixture("neuron_top/t1b-inf1.txt")))["neuron.memory_used"] == 4 * 171 * 1024**2


def test_columns_until_2_4() -> None:
    assert facts(records(FORMAT, fixture("neuron_top/t2-inf1.txt")))["neuron.memory_used"] == int(2.5 * 1024**3)


def test_terminal_recording() -> None:
    found = records(FORMAT, fixture("neuron_top/recording.ansi"))
    assert [sample.value for sample in samples(found, "utilisation")] == [33.1, 32.9]
    assert facts(found)["neuron.memory_used"] == int(18.2 * 1024**3)


def test_typed_off() -> None:
    assert facts(records(FORMAT, "0000:00:1f.0  Device Mem used 412 MB of 8 GB")) == {"neuron.memory_used": 412 * 1024**2}
    found = records(FORMAT, fixture("neuron_top/one-line.txt"))
    assert [(sample.entity, sample.value) for sample in samples(found, "utilisation")] == [("nd0:nc0", 61.2), ("nd0:nc1", 60.8)]


def test_prefixes() -> None:
    check_prefixes(FORMAT, fixture("neuron_top/t5-trn1-idle.txt"))
