"""Command lines of the dialect `optimum_cli` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_export_with_its_directory() -> None:
    found = facts(
        "optimum-cli export neuron --model m/x --batch_size 1 --sequence_length 8192 --auto_cast matmul --aut"
        "o_cast_type bf16 --num_cores 24 out/"
    )
    assert found["launch.program"] == "optimum-cli"
    assert found["launch.entry"] == "export neuron"
    assert found["launch.output_dir"] == "out/"
    assert found["launch.num_cores"] == 24
    assert found["launch.batch_size"] == 1
    assert found["launch.sequence_length"] == 8192
    assert (found["launch.auto_cast"], found["launch.auto_cast_type"]) == ("matmul", "bf16")


def test_a_switch_does_not_eat_the_directory() -> None:
    assert (
        facts("optimum-cli export neuron -m m --task text-generation --disable-validation out/ --dynamic-batch-size")[
            "launch.model"
        ]
        == "m"
    )
    assert facts("optimum-cli export neuron -m m --dynamic-batch-size out/")["launch.output_dir"] == "out/"


def test_serve_batch_is_the_number_of_requests() -> None:
    found = facts(
        "optimum-cli neuron serve -m Qwen/Qwen3-8B --tensor_parallel_size 8 --batch_size 4 --port 8080 --allow_non_cached_model"
    )
    assert found["launch.max_num_seqs"] == 4
    assert found["launch.tp"] == 8


def test_consolidate() -> None:
    assert facts("optimum-cli neuron consolidate ckpt/shards merged")["launch.output_dir"] == "merged"
