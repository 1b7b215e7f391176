"""Command lines of the dialect `nxd` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_inference_demo() -> None:
    found = facts(
        "inference_demo --model-type llama --task-type causal-lm run --model-path /m --tp-degree 2 --batch-si"
        "ze 1 --seq-len 1024 --on-device-sampling --fused-qkv"
    )
    assert found["launch.program"] == "inference_demo"
    assert (found["launch.tp"], found["launch.batch_size"], found["launch.sequence_length"]) == (2, 1, 1024)


def test_training_script() -> None:
    found = facts(
        "torchrun --nproc_per_node 32 tp_zero1_llama.py --tensor_parallel_size 8 --pipeline_parallel_size 4 -"
        "-batch_size 1 --grad_accum_usteps 32 --use_zero_1 1 --lr 3e-4"
    )
    assert (found["launch.tp"], found["launch.pp"], found["launch.per_device_batch"], found["launch.grad_accum"]) == (8, 4, 1, 32)
    assert found["launch.zero1"] is True
    assert found["launch.learning_rate"] == 3e-4
