"""`neuronwatch train [CONFIG.toml] [--set section.key=value]`: the bundled fine-tuning under supervision."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from neuronwatch.cli import supervised
from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory

CORES = "/sys/devices/virtual/neuron_device"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    supervised.add_arguments(parser, policy="act")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="changes one key of the configuration")
    parser.add_argument("--processes", type=int, metavar="N", help="processes of torchrun (default: one for each NeuronCore)")
    parser.add_argument("config", nargs="?", metavar="CONFIG.toml", help="without it: a tiny Qwen3 on the shipped questions")


def run(args: argparse.Namespace) -> int:
    """The job's last status; 64 for a configuration that is wrong, 125 for a failure of neuronwatch."""
    if not sys.platform.startswith("linux"):
        raise UsageError("`neuronwatch train` needs Linux: the supervisor stands on pidfd and subreapers")
    from neuronwatch.model.job import JobSpec
    from neuronwatch.source.bundled import bundled
    from neuronwatch.store import state_dir
    from neuronwatch.store.errors import StoreError

    if args.config and not Path(args.config).is_file():
        raise UsageError(f"{args.config}: no such file", args.config)
    python = _python(args.python)
    count = args.processes if args.processes is not None else cores(Path(args.host_root.rstrip("/") + CORES))
    argv = command(python, str(bundled("training")), os.path.abspath(args.config) if args.config else None, args.set, count)
    args.policy = args.policy or "act"
    try:
        state = state_dir.prepare(state_directory(args))
    except StoreError as error:
        supervised.say(f"{error}; {error.mend}" if error.mend else str(error))
        return supervised.FAILED
    name = args.name or f"train-{Path(args.config).stem if args.config else 'tiny'}"
    if args.policy == "act":
        supervised.say(f"job {name}: policy act: it is restarted and remedied by itself (--policy observe: only watched)")
    more = {**supervised.overlay(args), "interpreter": ""}
    return supervised.supervise(state, JobSpec(name, tuple(argv), cwd=os.getcwd(), **more), args)


def command(python: str, program: str, config: str | None, settings: list[str], count: int) -> list[str]:
    """The command of the job: one process, or torchrun with one for each core where there are cores."""
    words = [*([config] if config else []), *(word for setting in settings for word in ("--set", setting))]
    if count <= 1 or any(setting.replace(" ", "") == "run.backend=cpu" for setting in settings):
        return [python, program, *words]
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count), f"{program}/__main__.py", *words]


def cores(place: Path) -> int:
    """NeuronCores of this host, as its driver tells; 0 without a driver."""
    return sum(1 for _ in place.glob("neuron[0-9]*/neuron_core[0-9]*"))


def _python(asked: str) -> str:
    """The job's Python: the one asked for, else ours where it has torch. Raises UsageError."""
    if asked:
        return asked
    from importlib.util import find_spec

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise UsageError(
            "this Python has no torch and transformers: name one that has with --python, or `pip install 'neuronwatch[train]'`"
        )
    return sys.executable
