"""`neuron_parallel_compile CMD ...`: runs CMD once to extract graphs, then compiles them in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import Flags, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.model.records import Value


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) == "neuron_parallel_compile" or module_of(argv).endswith("neuron_parallel_compile")


def _flags(argv: Sequence[str]) -> Flags:
    start = 1 if program_of(argv) == "neuron_parallel_compile" else list(argv).index("-m") + 2
    return read_flags(argv[start:], (), stop=True)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    return collect(
        [("launch.program", "neuron_parallel_compile"), ("launch.precompile", True), *argument_facts(_flags(argv).options)]
    )


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    return _flags(argv).rest
