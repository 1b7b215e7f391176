"""One setting is changed where the command says it; everything else stays, and undoing it gives the command back exactly."""

from __future__ import annotations

import random

import pytest

from neuronwatch.dialect import rewrite
from neuronwatch.dialect.rewrite import Refusal
from neuronwatch.model.job import JobSpec

CASES = [
    ("python run_clm.py --per_device_train_batch_size 8 --bf16 --output_dir o", "per_device_batch", 8, 4),
    ("python run_clm.py --per_device_train_batch_size=8", "per_device_batch", 8, 4),
    ("torchrun --nproc_per_node=32 run.py --per_device_train_batch_size 8", "per_device_batch", 8, 2),
    ("torchrun --nproc_per_node=32 run.py --num_train_epochs 1", "grad_accum", 1, 8),
    ("torchrun --nproc_per_node=32 run.py --nproc_per_node 7", "nproc", 32, 8),
    ("python -m torch.distributed.run --nproc-per-node 2 -m pkg.train --num_proc 64", "num_proc", 64, 8),
    ("accelerate launch --num_processes 2 --main_process_port 29500 t.py", "port", 29500, 29511),
    ("torchrun --nproc_per_node 2 --master_port=29500 t.py --port 1", "port", 29500, 29511),
    ("torchrun --nproc_per_node 2 t.py", "port", 29500, 29511),
    ("mpirun -np 32 -x NEURON_RT_NUM_CORES=32 python train.py --num_workers 8", "num_workers", 8, 2),
    ("vllm serve Qwen/Qwen3-8B -tp 8 --max-num-seqs 4", "tp", 8, 4),
    ("vllm serve Qwen/Qwen3-8B -tp 8", "max_num_seqs", None, 16),
    ("python -m vllm.entrypoints.openai.api_server --model m --max-num-seqs 1", "max_num_seqs", 1, 8),
    ("optimum-cli export neuron -m m --batch_size 1 --sequence_length 512 out", "batch_size", 1, 4),
    ("optimum-cli neuron serve --model m --batch_size 1", "max_num_seqs", 1, 4),
    ("python train.py --tensor_parallel_size 6 --per_device_train_batch_size 1", "tp", 6, 4),
    ("inference_demo --model-type llama run --tp-degree 6 --batch-size 2", "tp", 6, 4),
    ("numactl --cpunodebind=0 python train.py --batch_size 4 --num_workers 2", "num_workers", 2, 0),
    (
        "nohup torchrun --nproc_per_node 2 train.py --gradient_accumulation_steps 1 -- --gradient_accumulation_steps 5",
        "grad_accum",
        1,
        3,
    ),
    ("python train.py --lr 1e-4 --per_device_train_batch_size 2 --per_device_train_batch_size 8", "per_device_batch", 8, 4),
]


@pytest.mark.parametrize(("command", "concept", "before", "after"), CASES)
def test_written_then_read_and_back(command: str, concept: str, before: object, after: int) -> None:
    spec = JobSpec("j", tuple(command.split()))
    assert rewrite.read(spec, concept) == before
    made = rewrite.write(spec, concept, after)
    assert not isinstance(made, Refusal), made
    new, change = made
    assert rewrite.read(new, concept) == after and change.new == after
    longer = len(new.argv) - len(spec.argv)
    if longer:
        at = next(i for i, word in enumerate(new.argv) if i >= len(spec.argv) or word != spec.argv[i])
        assert new.argv[:at] + new.argv[at + longer :] == spec.argv, "every other word stays, in its order"
    else:
        assert sum(a != b for a, b in zip(spec.argv, new.argv, strict=True)) == 1
    back = rewrite.write(new, concept, change.old) if change.old is not None else rewrite.remove(new, concept)
    assert not isinstance(back, Refusal)
    assert back[0] == spec


def test_random_commands_keep_every_other_argument() -> None:
    """Flags of all spellings in random order around the one that is changed; seed 5."""
    rng = random.Random(5)
    for _ in range(2000):
        flags = [
            ["--a", "1"],
            ["--b=2"],
            ["--bf16"],
            ["--save_steps", "-1"],
            ["-x", "y z"],
            ["--name", "--per_device"],
            ["--empty="],
        ]
        rng.shuffle(flags)
        flags = flags[: rng.randrange(len(flags) + 1)]
        ours = rng.choice(
            [["--per_device_train_batch_size", "8"], ["--per_device_train_batch_size=8"], ["--per-device-train-batch-size", "8"]]
        )
        flags.insert(rng.randrange(len(flags) + 1), ours)
        front = rng.choice(
            [
                ["python", "t.py"],
                ["torchrun", "--nnodes", "1", "t.py"],
                ["env", "A=1", "python3.11", "-u", "t.py"],
                ["accelerate", "launch", "t.py"],
            ]
        )
        argv = (*front, *(word for flag in flags for word in flag))
        spec = JobSpec("j", argv)
        made = rewrite.write(spec, "per_device_batch", 4)
        assert not isinstance(made, Refusal), argv
        new = made[0]
        assert len(new.argv) == len(argv) and sum(a != b for a, b in zip(argv, new.argv, strict=True)) == 1, argv
        assert rewrite.read(new, "per_device_batch") == 4
        back = rewrite.write(new, "per_device_batch", 8)
        assert not isinstance(back, Refusal) and back[0].argv == argv


@pytest.mark.parametrize(
    "command", ["./a.out --x 1", "bash -c 'python t.py --per_device_train_batch_size 8'", "python -c pass", "make train"]
)
def test_what_is_not_known_is_refused_in_words(command: str) -> None:
    import shlex

    answer = rewrite.write(JobSpec("j", tuple(shlex.split(command))), "per_device_batch", 4)
    assert isinstance(answer, Refusal) and "neuronwatch knows" in answer.why


def test_switches_come_and_go() -> None:
    spec = JobSpec("j", ("python", "t.py", "--per_device_train_batch_size", "1", "--fp16"))
    off = rewrite.write(spec, "fp16", False)
    assert not isinstance(off, Refusal) and off[0].argv == spec.argv[:-1]
    on = rewrite.write(off[0], "bf16", True)
    assert not isinstance(on, Refusal) and on[0].argv[-1] == "--bf16"
    stated = rewrite.write(JobSpec("j", ("python", "t.py", "--fp16", "True", "--output_dir", "o")), "fp16", False)
    assert not isinstance(stated, Refusal) and stated[0].argv[2:4] == ("--fp16", "False")


def test_a_variable_is_set_where_the_program_gets_it_from() -> None:
    def put(command: str, **more: object) -> JobSpec:
        made = rewrite.write_variable(JobSpec("j", tuple(command.split()), **more), "FI_EFA_FORK_SAFE", "1")  # type: ignore[arg-type]
        assert not isinstance(made, Refusal)
        assert rewrite.read_variable(made[0], "FI_EFA_FORK_SAFE") == "1"
        return made[0]

    assert put("torchrun t.py").env == {"FI_EFA_FORK_SAFE": "1"}
    assert put("env FI_EFA_FORK_SAFE=0 python t.py").argv == ("env", "FI_EFA_FORK_SAFE=1", "python", "t.py")
    assert put("mpirun -np 2 python t.py").argv == ("mpirun", "-x", "FI_EFA_FORK_SAFE=1", "-np", "2", "python", "t.py")
    assert put("mpirun -x FI_EFA_FORK_SAFE=0 python t.py").argv == ("mpirun", "-x", "FI_EFA_FORK_SAFE=1", "python", "t.py")
    assert put("docker run --rm -e A=1 img python t.py").argv == (
        "docker",
        "run",
        "-e",
        "FI_EFA_FORK_SAFE=1",
        "--rm",
        "-e",
        "A=1",
        "img",
        "python",
        "t.py",
    )
    assert put("docker run --env=FI_EFA_FORK_SAFE=0 img python t.py").argv[2] == "--env=FI_EFA_FORK_SAFE=1"


def test_our_own_programs_take_an_overlay() -> None:
    spec = JobSpec("j", ("python", "/opt/nw/training", "c.toml", "--set", "train.per_device_train_batch_size=8"))
    assert rewrite.read(spec, "per_device_batch") == 8
    made = rewrite.write(spec, "per_device_batch", 4)
    assert not isinstance(made, Refusal)
    assert made[0].argv == spec.argv and made[0].config == {"train.per_device_train_batch_size": 4}
    assert made[1].where == "config" and rewrite.read(made[0], "per_device_batch") == 4


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("",),
        ("-",),
        ("--",),
        ("torchrun",),
        ("python", "-m"),
        ("docker", "run"),
        ("env", "A=1"),
        ("accelerate", "launch"),
        ("python", "-m", "torch.distributed.run"),
        ("mpirun", "-x"),
    ],
)
def test_odd_commands_raise_nothing(words: tuple[str, ...]) -> None:
    spec = JobSpec("j", words)
    for concept in ("per_device_batch", "port", "tp", "nproc", "max_num_seqs"):
        rewrite.read(spec, concept)
        rewrite.write(spec, concept, 1)
        rewrite.remove(spec, concept)
    rewrite.write_variable(spec, "A", "2")


def test_two_commands_are_compared_by_their_flags() -> None:
    before = JobSpec("j", ("torchrun", "--nproc_per_node", "2", "t.py", "--lr", "1", "--bs=8", "--bf16"), env={"A": "1"})
    after = JobSpec("j", ("torchrun", "--nproc_per_node", "2", "t.py", "--bs", "4", "--lr", "1"), env={"B": "2"}, config={"k": 1})
    assert [(change.where, change.name, change.old, change.new) for change in rewrite.compared(before, after)] == [
        ("argv", "--bs", 8, 4), ("argv", "--bf16", True, None), ("env", "A", "1", None), ("env", "B", None, "2"), ("config", "k", None, 1),
    ]  # fmt: skip
    assert rewrite.compared(before, before) == ()
