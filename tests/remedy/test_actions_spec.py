"""Each change of a spec: what it proposes, in the words of the command, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from remedy_support import case, finding

from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import JobSpec, Progress
from neuronwatch.remedy import actions
from neuronwatch.remedy.api import Proposal, Refusal, Survey, proposed

OPTIMUM = "torchrun --nproc_per_node 32 run.py --per_device_train_batch_size 1 --tensor_parallel_size 6 --bf16"

CHANGES: list[tuple[str, str, str, dict[str, Any], str]] = [
    # action, fault, command, more of the case, what the new command or environment holds
    ("batch-size", "train.batch-size-device-oom", "python t.py --per_device_train_batch_size 6 --gradient_accumulation_steps 1", {}, "--per_device_train_batch_size 3 --gradient_accumulation_steps 2"),
    ("batch-size", "train.batch-size-device-oom", "python t.py --per_device_train_batch_size 3 --gradient_accumulation_steps 5", {}, "--per_device_train_batch_size 1 --gradient_accumulation_steps 15"),
    ("batch-size", "train.batch-size-device-oom", "python t.py --learning_rate 1e-4 --num_train_epochs 1", {}, "--per_device_train_batch_size 4 --gradient_accumulation_steps 2"),
    ("batch-size", "runtime.hbm-capacity-exceeded", "python t.py --batch_size 8 --grad_accum 1", {}, "--batch_size 4 --grad_accum 2"),
    ("max-num-seqs", "serve.max-batch-size-unset", "vllm serve m -tp 8", {}, "--max-num-seqs 8"),
    ("max-num-seqs", "serve.concurrency-at-limit", "vllm serve m --max-num-seqs 4", {}, "--max-num-seqs 8"),
    ("max-num-seqs", "serve.batch-config-mismatch", "vllm serve m --max-num-seqs=8", {"facts": {"artifact.batch_size": 4}}, "--max-num-seqs=4"),
    ("max-num-seqs", "runtime.hbm-capacity-exceeded", "vllm serve m --max-num-seqs=8", {}, "--max-num-seqs=4"),
    ("tokenizers-parallelism", "data.fork-deadlock", "python t.py", {}, "TOKENIZERS_PARALLELISM=false"),
    ("start-method", "data.fork-deadlock", "torchrun --start_method fork t.py", {}, "--start_method spawn"),
    ("workers", "data.num-proc-oversubscription", "python t.py --num_proc 64", {"facts": {"host.vcpus": 8}}, "--num_proc 8"),
    ("workers", "data.num-proc-oversubscription", "python t.py --num_proc 64", {}, "--num_proc 32"),
    ("workers", "data.fork-deadlock", "python t.py --num_proc 8", {}, "--num_proc 1"),
    ("workers", "data.input-starvation", "torchrun --nproc_per_node 2 t.py --per_device_train_batch_size 1", {"facts": {"host.vcpus": 8}}, "--dataloader_num_workers 4"),
    ("rope-theta", "train.rope-theta-mismatch", "python t.py --rope_theta 10000", {"facts": {"published.rope_theta": 1000000.0}}, "--rope_theta 1000000"),
    ("rope-theta", "train.rope-theta-mismatch", """vllm serve m --hf-overrides {"rope_theta":1}""", {"facts": {"published.rope_theta": 1000000.0}}, '--hf-overrides {"rope_theta": 1000000}'),
    ("precision", "train.fp16-gradient-underflow", "python t.py --fp16 --output_dir o", {}, "--output_dir o --bf16"),
    ("precision", "train.loss-nan", "accelerate launch --mixed_precision fp16 t.py", {}, "--mixed_precision bf16"),
    ("precision", "train.bf16-downcast-everything", "python t.py", {"environ": {"XLA_USE_BF16": "1"}}, "XLA_USE_BF16=None"),
    ("cache-directory", "compile.cache-dir-unusable", "python t.py", {"survey": Survey(writable=("/local/cache",))}, "NEURON_COMPILE_CACHE_URL=/local/cache"),
    ("cache-directory", "compile.storage-unsuitable", "python t.py", {"survey": Survey(writable=("/local/c",)), "environ": {"NEURON_CC_FLAGS": "-O1 --cache_dir=/nfs/c"}}, "NEURON_CC_FLAGS=-O1 --cache_dir=/local/c"),
    ("core-count", "runtime.cores-exceed-available", "torchrun --nproc_per_node 32 t.py --per_device_train_batch_size 1", {"facts": {"neuron.cores": 2}}, "--nproc_per_node 2 t.py --per_device_train_batch_size 1 --gradient_accumulation_steps 16"),
    ("core-count", "runtime.cores-exceed-available", "env NEURON_RT_NUM_CORES=32 python t.py", {"facts": {"neuron.cores": 2}}, "NEURON_RT_NUM_CORES=2 python"),
    ("core-count", "runtime.unsupported-core-topology", "torchrun --nproc_per_node 24 t.py", {"facts": {"neuron.cores": 32, "instance.collective_cores": (1, 2, 8, 16, 32)}}, "--nproc_per_node 24"),
    ("visible-cores", "cluster.launcher-hides-cores", "python t.py", {"facts": {"neuron.cores": 32}}, "NEURON_RT_VISIBLE_CORES=0-31"),
    ("visible-cores", "runtime.cores-busy", "torchrun --nproc_per_node 2 t.py", {"survey": Survey(cores=(1, 4, 5, 6))}, "NEURON_RT_VISIBLE_CORES=4-5"),
    ("tp-degree", "train.parallel-degree-indivisible", OPTIMUM, {"facts": {"config.num_attention_heads": 32, "config.num_key_value_heads": 8}}, "--tensor_parallel_size 4"),
    ("port", "train.port-in-use", "torchrun --nproc_per_node 2 t.py", {"survey": Survey(ports=(29500, 29611))}, "--master_port 29611 t.py"),
    ("port", "train.port-in-use", "env MASTER_PORT=1 python t.py", {"survey": Survey(ports=(29611,))}, "MASTER_PORT=29611"),
    ("timeouts", "runtime.exec-timeout", "python t.py", {}, "NEURON_RT_EXEC_TIMEOUT=600"),
    ("timeouts", "serve.startup-timeout", "vllm serve m", {}, "VLLM_ENGINE_READY_TIMEOUT_S=7200"),
    ("efa", "cluster.efa-fork-safe-unset", "mpirun -np 2 python t.py", {}, "mpirun -x FI_EFA_FORK_SAFE=1 -np 2"),
    ("efa", "cluster.root-comm-id-unset", "torchrun --nnodes 2 --master_addr 10.0.0.1 t.py", {}, "NEURON_RT_ROOT_COMM_ID=10.0.0.1:29501"),
    ("buckets", "serve.vllm-block-size", "vllm serve m --max-model-len 2048", {}, "--block-size 2048"),
    ("buckets", "serve.input-too-long", "vllm serve m --max-model-len 2048", {"facts": {"published.max_position_embeddings": 8192}}, "--max-model-len 4096"),
    ("retry-failed-compilation", "compile.cached-failure", "python t.py", {"environ": {"NEURON_CC_FLAGS": "-O1"}}, "NEURON_CC_FLAGS=-O1 --retry_failed_compilation"),
    ("hub-cache-push", "env.hub-access-denied", OPTIMUM, {"online": False}, "--skip_cache_push"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fault", "command", "more", "holds"), CHANGES, ids=[f"{row[0]}-{row[1]}-{i}" for i, row in enumerate(CHANGES)]
)
def test_it_proposes(name: str, fault: str, command: str, more: dict[str, Any], holds: str) -> None:
    action = actions.named(name)
    assert action is not None and fault in action.faults
    judged = case(command, **more)
    answer = proposed(action, judged, finding(fault))
    if holds in command:  # near misses: what is right already is left alone
        assert isinstance(answer, Refusal) or (answer.spec is not None and holds not in " ".join(answer.spec.argv))
        return
    assert isinstance(answer, Proposal), answer
    assert answer.spec is not None and answer.changes and answer.words
    made = " ".join(answer.spec.argv) + "".join(f" {key}={value}" for key, value in answer.spec.env.items())
    assert holds in made
    assert answer.spec != judged.spec
    again = proposed(action, replace(judged, spec=answer.spec), finding(fault))
    assert isinstance(again, Refusal) or action.repeats or again.spec != answer.spec, (
        "done once, it is not proposed again unchanged"
    )


@pytest.mark.parametrize("action", [item for item in actions.ACTIONS if item.kind == "spec"], ids=lambda item: str(item.name))
@pytest.mark.parametrize("command", ["./a.out", "bash -c 'python t.py --fp16'", ""])
def test_a_command_that_is_not_known_is_told_and_not_changed(action: Any, command: str) -> None:
    for fault in action.faults:
        answer = action.propose(case(command), finding(fault))
        if isinstance(answer, Proposal):
            assert all(change.where == "env" for change in answer.changes), "the environment is every program's"
            assert answer.spec is not None and answer.spec.argv == tuple(command.split())
        else:
            assert answer.why


def test_every_action_has_its_words_and_faults_of_the_taxonomy() -> None:
    from neuronwatch.data import taxonomy

    for action in actions.ACTIONS:
        assert action.title and action.faults
        assert [fault for fault in action.faults if not taxonomy.known(fault)] == []


def test_the_global_batch_never_changes() -> None:
    for batch in range(2, 65):
        for steps in (1, 2, 3, 7, 16):
            answer = actions.batch_size.propose(
                case(f"python t.py --per_device_train_batch_size {batch} --gradient_accumulation_steps {steps}"), None
            )
            assert isinstance(answer, Proposal) and answer.spec is not None
            assert int(answer.spec.argv[3]) * int(answer.spec.argv[5]) == batch * steps and int(answer.spec.argv[3]) < batch


def test_a_full_timeout_is_a_hang() -> None:
    answer = actions.timeouts.propose(
        case("python t.py", environ={"NEURON_RT_EXEC_TIMEOUT": "600"}), finding("runtime.exec-timeout")
    )
    assert isinstance(answer, Refusal) and "hang" in answer.why


def test_after_the_last_step_the_push_is_what_failed() -> None:
    judged = case(OPTIMUM, progress=Progress("exit", step=100, max_steps=100))
    assert isinstance(actions.hub_cache_push.propose(judged, finding("env.hub-access-denied")), Proposal)
    assert isinstance(actions.hub_cache_push.propose(replace(judged, progress=Progress("step", step=3)), None), Refusal)
    other = replace(judged, spec=JobSpec("j", ("python", "t.py", "--batch_size", "1")))
    assert isinstance(actions.hub_cache_push.propose(other, None), Refusal)


@pytest.mark.parametrize(
    "command", ["python /opt/nw/training c.toml", "torchrun --nproc_per_node 2 /opt/nw/training/__main__.py c.toml"]
)
def test_our_own_program_says_its_batch_in_its_configuration(tmp_path: Path, command: str) -> None:
    from neuronwatch.remedy import survey

    (tmp_path / "c.toml").write_text("[train]\nper_device_train_batch_size = 16\n[run]\noutput_dir = 'out'\n")
    judged = replace(case(command), spec=JobSpec("job", tuple(command.split()), cwd=str(tmp_path)))
    found = survey.completed(judged, tmp_path, "", 1.0)
    answer = proposed(actions.batch_size.ACTION, found, finding("train.batch-size-device-oom"))
    assert isinstance(answer, Proposal) and answer.spec is not None and answer.spec.argv == judged.spec.argv
    assert answer.spec.config == {"train.per_device_train_batch_size": 8, "train.gradient_accumulation_steps": 2}
    (tmp_path / "c.toml").write_text("[train\n")
    assert isinstance(proposed(actions.batch_size.ACTION, survey.completed(judged, tmp_path, "", 1.0), None), Refusal)
