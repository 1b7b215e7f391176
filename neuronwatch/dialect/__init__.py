"""Command lines of tools as facts, one file a tool: `speaks(argv)` and `facts_of(argv)`; launchers also have `unwrap(argv)`,
the command that they start. `facts_of_command` goes through nested launchers: `srun torchrun ...`, `docker run IMAGE vllm
serve ...`, `X=1 neuron_parallel_compile torchrun ...`. Nothing is executed or expanded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from neuronwatch.dialect import (
    accelerate,
    deepspeed,
    djl,
    docker,
    hf_trainer,
    mpirun,
    neuron_parallel_compile,
    neuronx_cc,
    nxd,
    optimum_cli,
    python_script,
    slurm,
    tgi,
    torchrun,
    vllm,
)
from neuronwatch.model.records import Event, Fact, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import WRAPPERS, base, is_launch
from neuronwatch.parse._shell import split_assignments, split_commands

MAX_DEPTH = 8

# the more special one first: a trainer's script is a Python script too
_DIALECTS: tuple[ModuleType, ...] = (
    torchrun,
    accelerate,
    deepspeed,
    vllm,
    optimum_cli,
    tgi,
    neuron_parallel_compile,
    docker,
    slurm,
    mpirun,
    djl,
    neuronx_cc,
    nxd,
    hf_trainer,
    python_script,
)
_RUNNERS = {"conda": "run", "uv": "run", "poetry": "run", "pipenv": "run", "micromamba": "run", "kubectl": "exec"}
_NOT_RENDERED = lazy(r"\$|`")


def dialect_of(argv: Sequence[str]) -> ModuleType | None:
    """The dialect that reads this command line, or None."""
    return next((dialect for dialect in _DIALECTS if argv and dialect.speaks(argv)), None)


def _strip_wrapper(argv: Sequence[str]) -> Sequence[str] | None:
    """The command behind `sudo -E`, `timeout 1h`, `numactl --cpunodebind=0`, `bash -c "..."`; None where there is none."""
    program = base(argv[0])
    if program in ("bash", "sh", "zsh") and len(argv) > 2 and argv[1] in ("-c", "-lc", "-ec", "-xc"):
        commands = split_commands(argv[2])
        return next((words for words in reversed(commands) if is_launch(words)), commands[-1] if commands else ())
    if program in _RUNNERS and _RUNNERS[program] in argv[1:4]:
        rest = list(argv[list(argv).index(_RUNNERS[program]) + 1 :])
        if "--" in rest:
            return rest[rest.index("--") + 1 :]
        return _skip_options(rest)
    if program == "ray" and "--" in argv:
        return argv[list(argv).index("--") + 1 :]
    if program in WRAPPERS or program == "xvfb-run":
        return _skip_options(argv[1:])
    return None


def _skip_options(words: Sequence[str]) -> Sequence[str]:
    """Drops the options of a wrapper, with the values that they take apart (`-c 0-7`, `-n 10`, `1h`)."""
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return words[index + 1 :]
        if re.match(r"^[0-9]{1,6}(?:\.[0-9]{1,2})?[smhd]?$", word):
            index += 1
        elif word.startswith("-"):
            following = words[index + 1] if index + 1 < len(words) else ""
            takes = (
                "=" not in word
                and re.fullmatch(r"[0-9][0-9,:-]{0,40}|[\w-]{1,40}", following)
                and word in ("-c", "-n", "-u", "-p", "-N", "-m", "-s", "-k", "-g", "--name")
            )
            index += 2 if takes else 1
        else:
            break
    return words[index:]


def facts_of_argv(argv: Sequence[str]) -> list[tuple[str, Value]]:
    """(name, value) of all levels of a command line, the innermost program first: that one decides what runs."""
    levels: list[dict[str, Value]] = []
    words: Sequence[str] = tuple(argv)
    for _ in range(MAX_DEPTH):
        assigned, rest = split_assignments(words)
        if assigned:
            environment: dict[str, Value] = {}
            for name, text in assigned.items():
                environment.update(of_environment(name, text))
            levels.append(environment)
        words = rest
        if not words:
            break
        inner = _strip_wrapper(words)
        if inner is not None:
            words = inner
            continue
        dialect = dialect_of(words)
        if dialect is None:
            if base(words[0]).endswith((".sh", ".bash")) or base(words[0]) in ("bash", "sh"):
                script = next((word for word in words if word.endswith((".sh", ".bash", ".sbatch", ".slurm"))), "")
                levels.append({"launch.entry": script} if script else {})
            break
        levels.append(dialect.facts_of(words))
        unwrap = getattr(dialect, "unwrap", None)
        if unwrap is None:
            break
        words = unwrap(words)
    merged: list[tuple[str, Value]] = []
    for level in reversed(levels):
        merged.extend(level.items())
    return merged


def facts_of_command(event: Event) -> list[Fact]:
    """The facts of a `command` event, each with the event's origin. A value that is still a reference (`$NPROC`) says nothing."""
    argv = event.fields.get("argv")
    if event.kind != "command" or not isinstance(argv, tuple) or not argv:
        return []
    words = [str(word) for word in argv]
    pairs = facts_of_argv(words)
    raw = str(event.fields.get("raw") or " ".join(words))
    facts = [Fact("launch.command", raw[:2000], event.origin, event.entity)]
    if not any(name == "launch.program" for name, _ in pairs):
        _, rest = split_assignments(words)
        if rest:
            facts.append(Fact("launch.program", base(rest[0]), event.origin, event.entity))
    for name, value in pairs:
        if isinstance(value, str) and _NOT_RENDERED.search(value) and not name.startswith("env."):
            continue
        facts.append(Fact(name, value, event.origin, event.entity))
    return facts


__all__ = ["dialect_of", "facts_of_argv", "facts_of_command"]
