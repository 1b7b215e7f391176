"""Command lines of the dialect `deepspeed` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_nodes_and_processes() -> None:
    found = facts("deepspeed --num_gpus 8 --num_nodes 2 train.py --gradient_accumulation_steps 4")
    assert (found["launch.program"], found["launch.nproc"], found["launch.nnodes"]) == ("deepspeed", 8, 2)
    assert found["launch.grad_accum"] == 4
