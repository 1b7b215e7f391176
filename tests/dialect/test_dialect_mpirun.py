"""Command lines of the dialect `mpirun` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_ranks_hosts_and_exports() -> None:
    found = facts(
        "mpirun -np 64 -H a:32,b:32 -x NEURON_RT_ROOT_COMM_ID=10.0.0.1:46820 --mca btl tcp,self --bind-to non"
        "e python train.py --lr 1e-4"
    )
    assert (found["launch.program"], found["launch.nproc"], found["launch.nnodes"]) == ("mpirun", 32, 2)
    assert found["env.NEURON_RT_ROOT_COMM_ID"] == "10.0.0.1:46820"
    assert found["launch.entry"] == "train.py"


def test_per_node() -> None:
    assert facts("mpiexec -npernode 2 --allow-run-as-root ./a.out")["launch.nproc"] == 2
