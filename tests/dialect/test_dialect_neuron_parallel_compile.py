"""Command lines of the dialect `neuron_parallel_compile` as facts."""

from __future__ import annotations

from dialect_support import facts, values


def test_wraps_another_launcher() -> None:
    command = "neuron_parallel_compile --num_parallel 8 torchrun --nproc_per_node=32 run_clm.py --max_steps 10"
    found = facts(command)
    assert found["launch.precompile"] is True
    assert found["launch.nproc"] == 32
    assert found["launch.max_steps"] == 10
    assert values(command, "launch.program") == ["torchrun", "neuron_parallel_compile"]


def test_wraps_a_shell_script() -> None:
    assert facts("neuron_parallel_compile ./run.sh")["launch.entry"] == "./run.sh"
