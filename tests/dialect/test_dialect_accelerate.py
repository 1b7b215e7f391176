"""Command lines of the dialect `accelerate` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_processes_count_all_machines() -> None:
    found = facts(
        "accelerate launch --num_processes 64 --num_machines 2 --machine_rank 1 --main_process_ip 10.0.0.1 --"
        "mixed_precision bf16 train.py"
    )
    assert found["launch.program"] == "accelerate"
    assert found["launch.nproc"] == 32
    assert found["launch.nnodes"] == 2
    assert found["launch.node_rank"] == 1
    assert found["launch.master_addr"] == "10.0.0.1"
    assert found["launch.bf16"] is True
    assert found["launch.entry"] == "train.py"


def test_switch_before_the_script() -> None:
    found = facts("accelerate launch --multi_gpu train.py --per_device_train_batch_size 4")
    assert found["launch.entry"] == "train.py"
    assert found["launch.per_device_batch"] == 4
