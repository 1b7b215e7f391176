"""Command lines of the dialect `djl` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_options_as_system_properties() -> None:
    found = facts("djl-serving -m m::Python=file:///opt/ml -Doption.tensor_parallel_degree=8 -Doption.max_rolling_batch_size=4")
    assert (found["launch.tp"], found["launch.max_num_seqs"]) == (8, 4)


def test_torchserve() -> None:
    assert facts("torchserve --start --ncs --model-store /m --ts-config config.properties")["launch.program"] == "torchserve"
