"""`mpirun` and `mpiexec`: ranks, exported environment, and the command that they start."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import program_of
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._shell import ASSIGNMENT
from neuronwatch.parse._text import to_int

_PAIRS = frozenset(["mca", "gmca", "prtemca"])
_SWITCHES = frozenset(
    [
        "allow-run-as-root",
        "oversubscribe",
        "tag-output",
        "timestamp-output",
        "v",
        "verbose",
        "q",
        "quiet",
        "display-map",
        "report-bindings",
        "bynode",
        "byslot",
        "nooversubscribe",
        "use-hwthread-cpus",
        "bind-to-none",
        "merge-stderr-to-stdout",
    ]
)


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra")


def _read(argv: Sequence[str]) -> tuple[list[tuple[str, str]], Sequence[str]]:
    """Options as (name, value) and the command. `-x NAME=value` exports, `--mca` takes two words."""
    options: list[tuple[str, str]] = []
    index = 1
    while index < len(argv):
        word = argv[index]
        if not word.startswith("-"):
            break
        name, joined, value = word.lstrip("-").partition("=")
        index += 1
        if joined:
            options.append((name, value))
        elif name in _SWITCHES:
            options.append((name, ""))
        elif name in _PAIRS:
            options.append((name, " ".join(argv[index : index + 2])))
            index += 2
        else:
            options.append((name, argv[index] if index < len(argv) else ""))
            index += 1
    return options, argv[index:]


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    options, _ = _read(argv)
    facts: dict[str, Value] = {"launch.program": "mpirun", "launch.distributed": True}
    ranks = per_node = hosts = None
    for name, value in options:
        if name in ("np", "n", "c"):
            ranks = to_int(value)
        elif name in ("N", "npernode", "ppn", "map-by"):
            per_node = to_int(value.removeprefix("ppr:").split(":", 1)[0])
        elif name in ("H", "host", "hosts"):
            hosts = len([part for part in value.split(",") if part])
        elif name == "x":
            assigned = ASSIGNMENT.match(value)
            if assigned:
                facts.update(of_environment(assigned.group(1), assigned.group(2)))
    if hosts:
        facts["launch.nnodes"] = hosts
    if per_node:
        facts["launch.nproc"] = per_node
    elif ranks:
        facts["launch.nproc"] = ranks // hosts if hosts and ranks % hosts == 0 else ranks
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    return _read(argv)[1]
