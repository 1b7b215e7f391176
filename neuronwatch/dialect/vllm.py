"""`vllm serve MODEL` and `python -m vllm.entrypoints...`."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import COMMON_SWITCHES, after_module, argument_facts, collect, module_of, program_of, read_flags
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


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    module = module_of(argv)
    words = list(after_module(argv) if module else argv[2:])
    flags = read_flags(words, _SWITCHES, _SHORT)
    pairs: list[tuple[str, Value]] = [
        ("launch.program", "vllm"),
        ("launch.entry", module or f"vllm {argv[1]}"),
        *argument_facts(flags.options),
    ]
    facts = collect(pairs)
    if flags.rest and "launch.model" not in facts and (module or argv[1] == "serve"):
        facts["launch.model"] = flags.rest[0]
    return facts
