"""Command lines of the dialect `slurm` as facts."""

from __future__ import annotations

from dialect_support import facts, values


def test_srun_around_torchrun() -> None:
    command = "srun -N 4 --ntasks-per-node=1 --exclusive torchrun --nnodes 4 --nproc_per_node 32 run.py"
    found = facts(command)
    assert (found["launch.nnodes"], found["launch.nproc"]) == (4, 32)
    assert values(command, "launch.program") == ["torchrun", "srun"]


def test_wrapped_command_of_sbatch() -> None:
    found = facts("""sbatch --nodes 4 --cpus-per-task 64 --wrap="srun neuron_parallel_compile bash run_llama.sh" """)
    assert found["launch.precompile"] is True
    assert found["slurm.nodes"] == 4
    assert found["launch.entry"] == "run_llama.sh"


def test_ranks_by_tasks() -> None:
    found = facts("srun --nodes=2 --ntasks=64 --export=ALL,FI_PROVIDER=efa python train.py")
    assert (found["launch.nnodes"], found["launch.nproc"]) == (2, 32)
    assert found["env.FI_PROVIDER"] == "efa"
    assert found["launch.distributed"] is True
