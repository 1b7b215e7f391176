"""`accelerate launch`."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import Flags, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.records import Value
from neuronwatch.parse._text import to_int

_SWITCHES = frozenset(
    [
        "multi_gpu",
        "cpu",
        "tpu",
        "use_deepspeed",
        "use_fsdp",
        "use_megatron_lm",
        "use_xpu",
        "module",
        "no_python",
        "quiet",
        "debug",
        "same_network",
        "m",
        "q",
        "multi_cpu",
        "mps",
        "ipex",
        "dynamo_use_fullgraph",
        "dynamo_use_dynamic",
    ]
)


def speaks(argv: Sequence[str]) -> bool:
    if module_of(argv) == "accelerate.commands.launch":
        return True
    return program_of(argv) == "accelerate" and len(argv) > 1 and argv[1] == "launch"


SPELLINGS = {
    "nproc": Spelling(("num_processes",), "--num_processes"),
    "nnodes": Spelling(("num_machines",), "--num_machines", 1),
    "port": Spelling(("main_process_port",), "--main_process_port", 29500),
    "precision": Spelling(("mixed_precision",), "--mixed_precision"),
    "master_addr": Spelling(("main_process_ip",), "--main_process_ip"),
}


def own(argv: Sequence[str]) -> Own:
    start = 2 if program_of(argv) == "accelerate" else list(argv).index("-m") + 2
    return Own(start, _SWITCHES, {"-m": "--module"}, stop=True)


def _flags(argv: Sequence[str]) -> Flags:
    start, switches, short, stop = own(argv)
    return read_flags(argv[start:], switches, short, stop)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """`--num_processes` counts all machines; the fact is per machine."""
    flags = _flags(argv)
    facts = collect([("launch.program", "accelerate"), ("launch.distributed", True), *argument_facts(flags.options)])
    machines, processes = to_int(flags.get("num_machines") or 1) or 1, to_int(flags.get("num_processes") or "")
    if flags.get("num_machines"):
        facts["launch.nnodes"] = machines
    if processes:
        facts["launch.nproc"] = processes // machines if processes % machines == 0 else processes
    precision = flags.get("mixed_precision")
    if precision in ("bf16", "fp16"):
        facts[f"launch.{precision}"] = True
    rank, address = to_int(flags.get("machine_rank") if flags.get("machine_rank") is not None else ""), flags.get("main_process_ip")
    if rank is not None:
        facts["launch.node_rank"] = rank
    if isinstance(address, str):
        facts["launch.master_addr"] = address
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    flags = _flags(argv)
    if not flags.rest or flags.get("no_python"):
        return flags.rest
    return ("python", "-m", *flags.rest) if flags.get("module") else ("python", *flags.rest)
