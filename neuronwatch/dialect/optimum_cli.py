"""`optimum-cli export neuron`, `optimum-cli neuron serve | consolidate | cache ...`."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import COMMON_SWITCHES, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import of_argument

_SHORT = {"-m": "--model", "-n": "--name", "-o": "--output"}


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) == "optimum-cli" or module_of(argv).startswith(("optimum.exporters.neuron", "optimum.commands"))


SPELLINGS = {
    "batch_size": Spelling(("batch_size",), "--batch_size"),
    "sequence_length": Spelling(("sequence_length",), "--sequence_length"),
    "tp": Spelling(("tensor_parallel_size", "num_cores"), "--tensor_parallel_size"),
    "precision": Spelling(("auto_cast_type", "torch_dtype"), "--auto_cast_type"),
    "max_num_seqs": Spelling(("batch_size",), "--batch_size"),
    "port": Spelling(("port",)),
    "target": Spelling(("instance_type", "target")),
}


def own(argv: Sequence[str]) -> Own:
    return Own(_verbs(argv)[1], COMMON_SWITCHES, _SHORT)


def _verbs(argv: Sequence[str]) -> tuple[list[str], int]:
    """The verbs (`export neuron`), and where the flags begin."""
    start = 1 if program_of(argv) == "optimum-cli" else list(argv).index("-m") + 2
    verbs: list[str] = []
    while start < len(argv) and not argv[start].startswith("-") and len(verbs) < 3 and argv[start].isalpha():
        verbs.append(argv[start])
        start += 1
    return verbs, start


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """An export's directory is its last positional; a server's `--batch_size` is the number of requests it takes at once."""
    verbs, start = _verbs(argv)
    flags = read_flags(argv[start:], short=_SHORT)
    pairs: list[tuple[str, Value]] = [("launch.program", "optimum-cli"), *argument_facts(flags.options)]
    if verbs:
        pairs.append(("launch.entry", " ".join(verbs)))
    if flags.rest:
        if "export" in verbs or "consolidate" in verbs:
            pairs.append(("launch.output_dir", flags.rest[-1]))
        elif "lookup" in verbs or "serve" in verbs:
            pairs.extend(of_argument("model", flags.rest[0]))
    facts = collect(pairs)
    if "serve" in verbs and "launch.batch_size" in facts:
        facts["launch.max_num_seqs"] = facts["launch.batch_size"]
    return facts
