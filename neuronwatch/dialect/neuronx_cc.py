"""`neuronx-cc compile` (and the old neuron-cc): its flags as `cc.*` and `arg.*`, target and casts."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import argument_facts, collect, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import of_compiler_flags

_SWITCHES = frozenset(
    {
        "enable_fast_loading_neuron_binaries",
        "enable_mixed_precision_accumulation",
        "disable_internal_io_dge",
        "retry_failed_compilation",
        "no_cache",
    }
)


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in ("neuronx-cc", "neuron-cc")


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    verb = next((word for word in argv[1:] if not word.startswith("-")), "")
    flags = read_flags(argv[2:] if argv[1:2] == [verb] or tuple(argv[1:2]) == (verb,) else argv[1:], _SWITCHES, {"-o": "--output"})
    pairs: list[tuple[str, Value]] = [("launch.program", program_of(argv)), ("launch.entry", verb), *argument_facts(flags.options)]
    pairs.extend(of_compiler_flags(" ".join(argv[1:])))
    facts = collect(pairs)
    facts.pop("launch.output_dir", None)
    return facts
