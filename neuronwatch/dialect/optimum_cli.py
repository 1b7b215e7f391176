"""`optimum-cli export neuron`, `optimum-cli neuron serve | consolidate | cache ...`."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import of_argument

_SHORT = {"-m": "--model", "-n": "--name", "-o": "--output"}


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) == "optimum-cli" or module_of(argv).startswith(("optimum.exporters.neuron", "optimum.commands"))


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """An export's directory is its last positional; a server's `--batch_size` is the number of requests it takes at once."""
    start = 1 if program_of(argv) == "optimum-cli" else list(argv).index("-m") + 2
    verbs: list[str] = []
    while start < len(argv) and not argv[start].startswith("-") and len(verbs) < 3 and argv[start].isalpha():
        verbs.append(argv[start])
        start += 1
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
