"""The `deepspeed` launcher."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import argument_facts, collect, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._text import to_int

_SWITCHES = frozenset({"module", "no_python", "no_local_rank", "force_multi", "save_pid"})


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) == "deepspeed"


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    flags = read_flags(argv[1:], _SWITCHES, stop=True)
    facts = collect([("launch.program", "deepspeed"), ("launch.distributed", True), *argument_facts(flags.options)])
    processes, nodes = to_int(flags.get("num_gpus", "num_accelerators") or ""), to_int(flags.get("num_nodes") or "")
    if processes:
        facts["launch.nproc"] = processes
    if nodes:
        facts["launch.nnodes"] = nodes
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    rest = read_flags(argv[1:], _SWITCHES, stop=True).rest
    return ("python", *rest) if rest else ()
