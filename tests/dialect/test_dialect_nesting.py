"""Launchers inside launchers, wrappers, environment prefixes; hostile argument lists."""

from __future__ import annotations

from dialect_support import facts, values
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.dialect import facts_of_argv, facts_of_command
from neuronwatch.model.records import Event, Origin
from neuronwatch.model.vocabulary import known

WORDS = st.sampled_from(
    [
        "torchrun",
        "accelerate",
        "launch",
        "docker",
        "run",
        "exec",
        "srun",
        "sbatch",
        "--wrap",
        "mpirun",
        "-np",
        "-x",
        "vllm",
        "serve",
        "optimum-cli",
        "export",
        "neuron",
        "sudo",
        "env",
        "timeout",
        "1h",
        "neuron_parallel_compile",
        "neuronx-cc",
        "compile",
        "python",
        "-m",
        "-c",
        "torch.distributed.run",
        "bash",
        "--",
        "--nproc_per_node",
        "--device",
        "/dev/neuron0",
        "-e",
        "A=1",
        "--bf16",
        "X=2",
        "-",
        "=",
        "--=",
        "-tp",
        "8",
        "--hf-overrides",
        "{}",
        "numactl",
        "-n",
        "conda",
        "kubectl",
        "ray",
        "text-generation-launcher",
        "inference_demo",
        "a.py",
        "run.sh",
    ]
)


def event(*argv: str) -> Event:
    return Event("command", Origin("launch.sh", 3, " ".join(argv)), {"program": "", "argv": tuple(argv), "raw": " ".join(argv)})


def test_wrappers_are_gone_through() -> None:
    found = facts(
        "sudo -E nohup timeout 1h numactl --cpunodebind=0 taskset -c 0-31 python -m torch.distributed.run --nproc_per_node=2 a.py"
    )
    assert found["launch.program"] == "torchrun"
    assert found["launch.nproc"] == 2


def test_inner_shell() -> None:
    assert facts("docker run img bash -c 'cd /x && X=1 torchrun --nproc_per_node=2 a.py'")["launch.nproc"] == 2


def test_environment_before_and_between() -> None:
    found = facts("NEURON_CC_FLAGS='--model-type transformer --cache_dir=/c' srun env FI_PROVIDER=efa XLA_USE_BF16=1 python a.py")
    assert found["env.FI_PROVIDER"] == "efa"
    assert found["env.XLA_USE_BF16"] == "1"
    assert found["cc.model_type"] == "transformer"
    assert found["launch.cache_dir"] == "/c"


def test_runner_environments() -> None:
    assert facts("conda run -n neuron torchrun --nproc_per_node 4 a.py")["launch.nproc"] == 4
    assert facts("kubectl exec -it pod-0 -- vllm serve m --max-num-seqs 2")["launch.max_num_seqs"] == 2
    assert facts("ray job submit --address x -- python a.py --tp_size 4")["launch.tp"] == 4


def test_inner_value_comes_first() -> None:
    assert values("srun -N 2 torchrun --nnodes 4 a.py", "launch.nnodes") == [4, 2]


def test_facts_carry_the_place_of_the_command() -> None:
    found = facts_of_command(event("torchrun", "--nproc_per_node", "2", "a.py"))
    assert found[0].name == "launch.command"
    assert all(fact.origin.line == 3 for fact in found)
    assert {fact.name for fact in found} >= {"launch.program", "launch.nproc", "launch.entry"}


def test_a_reference_is_no_value() -> None:
    found = {fact.name: fact.value for fact in facts_of_command(event("vllm", "serve", "$MODEL", "--tensor-parallel-size", "$TP"))}
    assert "launch.model" not in found
    assert "launch.tp" not in found


def test_plain_program_is_named() -> None:
    found = {fact.name: fact.value for fact in facts_of_command(event("python", "train.py"))}
    assert found["launch.program"] == "python"


def test_other_events_say_nothing() -> None:
    assert facts_of_command(Event("step", Origin("x"), {})) == []
    assert facts_of_command(Event("command", Origin("x"), {"argv": ()})) == []


@given(st.lists(st.one_of(WORDS, st.text(max_size=12)), max_size=30))
def test_never_raises(argv: list[str]) -> None:
    for name, _ in facts_of_argv(argv):
        assert known(name), name
    facts_of_command(event(*argv))
