"""Text Generation Inference: `text-generation-launcher` and its server (also as the arguments of the container image)."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import argument_facts, collect, program_of, read_flags
from neuronwatch.model.records import Value


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in ("text-generation-launcher", "text-generation-server")


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    flags = read_flags(argv[1:])
    facts = collect([("launch.program", "text-generation-launcher"), *argument_facts(flags.options)])
    if "launch.model" not in facts and flags.rest and program_of(argv) == "text-generation-server":
        facts["launch.model"] = flags.rest[-1]
    return facts
