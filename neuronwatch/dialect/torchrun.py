"""torchrun, `python -m torch.distributed.run` and `.launch`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuronwatch.dialect._argv import Flags, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.records import Value
from neuronwatch.parse._text import to_int

_SWITCHES = frozenset({"standalone", "no_python", "m", "module", "use_env", "run_path"})


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) == "torchrun" or module_of(argv) in ("torch.distributed.run", "torch.distributed.launch")


SPELLINGS = {
    "nproc": Spelling(("nproc_per_node",), "--nproc_per_node", 1),
    "nnodes": Spelling(("nnodes",), "--nnodes", 1),
    "port": Spelling(("master_port",), "--master_port", 29500),
    "master_addr": Spelling(("master_addr",), "--master_addr"),
    "start_method": Spelling(("start_method",), "--start_method", "spawn"),
    "rendezvous_timeout": Spelling(("rdzv_conf",)),
}


def own(argv: Sequence[str]) -> Own:
    start = 1 if program_of(argv) == "torchrun" else list(argv).index("-m") + 2
    return Own(start, _SWITCHES, {"-m": "--module"}, stop=True)


def _flags(argv: Sequence[str]) -> Flags:
    start, switches, short, stop = own(argv)
    return read_flags(argv[start:], switches, short, stop)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """Processes and nodes; `--nnodes 1:4` is elastic and counts as its maximum."""
    flags = _flags(argv)
    facts = collect([("launch.program", "torchrun"), ("launch.distributed", True), *argument_facts(flags.options)])
    nodes = flags.get("nnodes")
    elastic = re.match(r"^[0-9]{1,6}:([0-9]{1,6})$", str(nodes or ""))
    if elastic:
        facts["launch.nnodes"] = int(elastic.group(1))
    endpoint = flags.get("rdzv_endpoint")
    if isinstance(endpoint, str) and "launch.master_addr" not in facts:
        facts["launch.master_addr"] = endpoint.rsplit(":", 1)[0]
    if to_int(flags.get("nproc_per_node") or "") is None:
        facts.pop("launch.nproc", None)
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    """The script as a Python command, so that its own flags are read."""
    flags = _flags(argv)
    if not flags.rest or flags.get("no_python"):
        return flags.rest
    return ("python", "-m", *flags.rest) if flags.get("module") else ("python", *flags.rest)
