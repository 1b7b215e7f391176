"""NxD: `inference_demo` of NxD Inference, and training scripts with NxD's own flags."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect import python_script
from neuronwatch.dialect._argv import COMMON_SWITCHES, argument_facts, collect, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.records import Value
from neuronwatch.parse._text import to_int

_SWITCHES = COMMON_SWITCHES | frozenset(
    [
        "on_device_sampling",
        "enable_bucketing",
        "fused_qkv",
        "is_continuous_batching",
        "qkv_kernel_enabled",
        "attn_kernel_enabled",
        "mlp_kernel_enabled",
        "quantized",
        "flash_decoding_enabled",
        "do_sample",
        "pad_to_max_length",
        "check_accuracy_mode_on",
        "enable_fused_speculation",
        "is_prefix_caching",
    ]
)
_OWN = frozenset(
    [
        "kv_replicator",
        "num_microbatches",
        "use_selective_checkpoint",
        "use_sequence_parallel",
        "grad_accum_usteps",
        "kv_size_multiplier",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "steps_this_run",
    ]
)


SPELLINGS = {
    "per_device_batch": Spelling(("per_device_train_batch_size", "train_batch_size", "micro_batch_size", "mbs", "batch_size")),
    "grad_accum": Spelling(("grad_accum_usteps", "gradient_accumulation_steps")),
    "tp": Spelling(("tensor_parallel_size", "tp_degree")),
    "skip_cache_push": Spelling(("skip_cache_push",), "--skip_cache_push", False),
    "num_microbatches": Spelling(("num_microbatches",)),
    "max_num_seqs": Spelling(("max_num_seqs", "max_batch_size", "batch_size")),
    "sequence_length": Spelling(("seq_len", "max_length")),
    "precision": Spelling(("torch_dtype",)),
}


def own(argv: Sequence[str]) -> Own:
    return Own(1, _SWITCHES, {}) if program_of(argv) == "inference_demo" else python_script.own(argv)


def speaks(argv: Sequence[str]) -> bool:
    if program_of(argv) == "inference_demo" or "neuronx_distributed" in " ".join(argv[:4]):
        return True
    if not python_script.speaks(argv):
        return False
    names = {name for name, _ in read_flags(python_script.script_words(argv)[1]).options}
    return bool(names & _OWN)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """`1` and `0` of NxD's switches are read as true and false; `--batch_size` of a training script is per data-parallel rank."""
    if program_of(argv) == "inference_demo":
        flags = read_flags(argv[1:], _SWITCHES)
        return collect([("launch.program", "inference_demo"), *argument_facts(flags.options)])
    facts = python_script.facts_of(argv)
    batch = to_int(facts.get("arg.batch_size") or "")
    if batch and "arg.per_device_train_batch_size" not in facts:
        facts["launch.per_device_batch"] = batch
    return facts
