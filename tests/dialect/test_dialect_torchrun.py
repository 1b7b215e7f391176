"""Command lines of the dialect `torchrun` as facts."""

from __future__ import annotations

from dialect_support import facts, values

from neuronwatch.dialect import torchrun


def test_processes_nodes_and_the_script_behind() -> None:
    found = facts(
        "torchrun --nnodes=2 --node_rank=1 --nproc_per_node=32 --master_addr 10.0.0.1 run_mlm.py --do_train --bf16 --max_steps 10"
    )
    assert found["launch.program"] == "torchrun"
    assert found["launch.nproc"] == 32
    assert found["launch.nnodes"] == 2
    assert found["launch.node_rank"] == 1
    assert found["launch.master_addr"] == "10.0.0.1"
    assert found["launch.entry"] == "run_mlm.py"
    assert found["launch.bf16"] is True
    assert found["launch.max_steps"] == 10
    assert found["launch.distributed"] is True


def test_old_module_form_and_dashes() -> None:
    found = facts("python3 -u -m torch.distributed.launch --nproc-per-node 8 --use_env train_tp.py --tp_size 8")
    assert found["launch.nproc"] == 8
    assert found["launch.tp"] == 8
    assert found["launch.entry"] == "train_tp.py"


def test_elastic_nodes_and_rendezvous() -> None:
    found = facts("torchrun --nnodes 1:4 --nproc_per_node auto --rdzv_endpoint=10.0.0.9:29500 --standalone -m pkg.train --lr 1e-4")
    assert found["launch.nnodes"] == 4
    assert "launch.nproc" not in found
    assert found["launch.master_addr"] == "10.0.0.9"
    assert found["launch.entry"] == "pkg.train"
    assert found["launch.learning_rate"] == 1e-4


def test_an_unknown_variable_is_no_number() -> None:
    assert "launch.nproc" not in facts("torchrun --nproc_per_node $N train.py")


def test_a_script_flag_is_not_the_launcher_s() -> None:
    assert values("torchrun --nproc_per_node 2 a.py --nnodes 7", "launch.nnodes") == [7]
    assert torchrun.facts_of(["torchrun", "--nproc_per_node", "2", "a.py", "--nnodes", "7"]).get("launch.nnodes") is None
