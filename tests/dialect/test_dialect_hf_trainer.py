"""Command lines of the dialect `hf_trainer` as facts."""

from __future__ import annotations

from dialect_support import facts

from neuronwatch.dialect import dialect_of, hf_trainer


def test_speaks_by_its_flags() -> None:
    assert dialect_of(["python", "train.py", "--per_device_train_batch_size", "8"]) is hf_trainer
    assert dialect_of(["python", "train.py", "--epochs", "8"]) is not hf_trainer


def test_switches_and_numbers() -> None:
    found = facts(
        "python run.py --model_name_or_path m --bf16 --do_train --output_dir out --per_device_train_batch_siz"
        "e 8 --learning_rate 5e-5"
    )
    assert found["launch.bf16"] is True
    assert found["launch.output_dir"] == "out"
    assert found["launch.per_device_batch"] == 8
    assert found["launch.learning_rate"] == 5e-5


def test_a_stated_false_is_false() -> None:
    found = facts("python run.py --output_dir o --bf16 False --zero_1 false --fp16 True")
    assert (found["launch.bf16"], found["launch.zero1"], found["launch.fp16"]) == (False, False, True)


def test_dtype_by_name() -> None:
    assert facts("python run.py --output_dir o --torch_dtype bfloat16")["launch.bf16"] is True


def test_workers_and_data_processes() -> None:
    found = facts("python run.py --output_dir o --dataloader_num_workers 4 --preprocessing_num_workers 64")
    assert (found["launch.num_workers"], found["launch.num_proc"]) == (4, 64)
