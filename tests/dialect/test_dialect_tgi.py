"""Command lines of the dialect `tgi` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_launcher() -> None:
    found = facts(
        "text-generation-launcher --model-id /models/m --max-batch-size 4 --max-total-tokens 4096 --max-concurrent-requests 8"
    )
    assert found["launch.program"] == "text-generation-launcher"
    assert (found["launch.batch_size"], found["launch.max_model_len"], found["launch.max_num_seqs"]) == (4, 4096, 8)
