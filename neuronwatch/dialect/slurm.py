"""`srun`, `sbatch`, `salloc`: nodes, tasks, and the command that they start (also in `--wrap`)."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import Flags, collect, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._shell import ASSIGNMENT, split_words
from neuronwatch.parse._text import to_int

_SWITCHES = frozenset(
    [
        "exclusive",
        "pty",
        "label",
        "l",
        "unbuffered",
        "u",
        "overlap",
        "requeue",
        "no_requeue",
        "hold",
        "parsable",
        "quiet",
        "q",
        "verbose",
        "v",
        "kill_on_bad_exit",
        "-l",
        "-u",
        "-q",
        "-v",
        "-H",
        "use_min_nodes",
        "contiguous",
        "no_kill",
        "oversubscribe",
    ]
)
_SHORT = {
    "-N": "--nodes",
    "-n": "--ntasks",
    "-p": "--partition",
    "-c": "--cpus-per-task",
    "-J": "--job-name",
    "-o": "--output",
    "-e": "--error",
    "-t": "--time",
    "-w": "--nodelist",
    "-K": "--kill-on-bad-exit",
}


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in ("srun", "sbatch", "salloc")


def _flags(argv: Sequence[str]) -> Flags:
    return read_flags(argv[1:], _SWITCHES, _SHORT, stop=True)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    flags = _flags(argv)
    facts = collect([("launch.program", program_of(argv))])
    nodes, tasks, per_node = (
        to_int(flags.get("nodes") or ""),
        to_int(flags.get("ntasks") or ""),
        to_int(flags.get("ntasks_per_node") or ""),
    )
    if nodes:
        facts["launch.nnodes"] = nodes
        facts["slurm.nodes"] = nodes
    if per_node and per_node > 1:
        facts["launch.nproc"] = per_node
    elif tasks and nodes and tasks > nodes and tasks % nodes == 0:
        facts["launch.nproc"] = tasks // nodes
    if (tasks or 0) > 1 or (per_node or 0) > 1 or (nodes or 0) > 1:
        facts["launch.distributed"] = True
    for part in str(flags.get("export") or "").split(","):
        assigned = ASSIGNMENT.match(part)
        if assigned:
            facts[f"env.{assigned.group(1)}"] = assigned.group(2)
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    flags = _flags(argv)
    wrap = flags.get("wrap")
    if isinstance(wrap, str):
        return split_words(wrap)
    if program_of(argv) == "sbatch" and flags.rest and not flags.rest[0].endswith(".py"):
        return ("bash", *flags.rest)
    return flags.rest
