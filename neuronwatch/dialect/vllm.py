"""`vllm serve MODEL` and `python -m vllm.entrypoints...`."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import COMMON_SWITCHES, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.records import Value

_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
    "-m": "--model",
}
_SWITCHES = COMMON_SWITCHES | {
    "enable_auto_tool_choice",
    "enable_reasoning",
    "enable_lora",
    "disable_custom_all_reduce",
    "enable_expert_parallel",
    "headless",
}


def speaks(argv: Sequence[str]) -> bool:
    if module_of(argv).startswith("vllm."):
        return True
    return program_of(argv) == "vllm" and len(argv) > 1


SPELLINGS = {
    "tp": Spelling(("tensor_parallel_size",), "--tensor-parallel-size", 1),
    "max_num_seqs": Spelling(("max_num_seqs",), "--max-num-seqs"),
    "max_model_len": Spelling(("max_model_len",), "--max-model-len"),
    "block_size": Spelling(("block_size",), "--block-size"),
    "port": Spelling(("port",), "--port", 8000),
    "precision": Spelling(("dtype",), "--dtype", "auto"),
    "overrides": Spelling(("hf_overrides",), "--hf-overrides"),
    "neuron_config": Spelling(("additional_config", "override_neuron_config"), "--additional-config"),
    "prefix_caching": Spelling(("enable_prefix_caching",), "--enable-prefix-caching", switch=True),
}


def own(argv: Sequence[str]) -> Own:
    start = list(argv).index("-m") + 2 if module_of(argv) else 2
    return Own(start, frozenset(_SWITCHES), _SHORT)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    module = module_of(argv)
    start, switches, short, _ = own(argv)
    flags = read_flags(argv[start:], switches, short)
    pairs: list[tuple[str, Value]] = [
        ("launch.program", "vllm"),
        ("launch.entry", module or f"vllm {argv[1]}"),
        *argument_facts(flags.options),
    ]
    facts = collect(pairs)
    if flags.rest and "launch.model" not in facts and (module or argv[1] == "serve"):
        facts["launch.model"] = flags.rest[0]
    return facts
