"""Command lines of the dialect `neuronx_cc` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_compile_command() -> None:
    found = facts(
        "neuronx-cc compile graph.pb --framework=XLA --target=trn1 --model-type=transformer --auto-cast=none "
        "-O1 --lnc 2 --output graph.neff"
    )
    assert found["launch.program"] == "neuronx-cc"
    assert found["launch.entry"] == "compile"
    assert (found["compiler.target"], found["launch.target"]) == ("trn1", "trn1")
    assert found["cc.optlevel"] == 1
    assert found["launch.model_type"] == "transformer"
    assert found["cc.auto_cast"] == "none"
    assert found["neuron.lnc"] == 2


def test_a_verb_that_does_not_exist_is_still_named() -> None:
    assert facts("neuronx-cc list-compiled-models")["launch.entry"] == "list-compiled-models"
