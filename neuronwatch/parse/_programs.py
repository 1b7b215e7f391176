"""Which words start a command that neuronwatch understands, and the `command` event made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuronwatch.model.records import Event
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._shell import split_assignments
from neuronwatch.parse.api import Line

LAUNCHERS = frozenset(
    [
        "torchrun",
        "accelerate",
        "optimum-cli",
        "vllm",
        "neuron_parallel_compile",
        "neuronx-cc",
        "neuron-cc",
        "docker",
        "podman",
        "nerdctl",
        "srun",
        "sbatch",
        "salloc",
        "mpirun",
        "mpiexec",
        "deepspeed",
        "inference_demo",
        "text-generation-launcher",
        "text-generation-server",
        "djl-serving",
        "torchserve",
        "tritonserver",
        "tensorflow_model_server_neuron",
        "torch-model-archiver",
        "ray",
        "lightning",
        "axolotl",
        "llamafactory-cli",
        "trl",
        "litgpt",
    ]
)
"""Programs that alone make a line a launch command."""

WRAPPERS = frozenset(
    [
        "sudo",
        "nohup",
        "time",
        "env",
        "exec",
        "timeout",
        "numactl",
        "taskset",
        "stdbuf",
        "nice",
        "ionice",
        "xargs",
        "chrt",
        "setsid",
        "unbuffer",
        "script",
        "catchsegv",
        "gdb",
        "strace",
        "ltrace",
        "perf",
    ]
)
"""Programs that run another one, which follows after their own options."""

_PYTHON = lazy(r"^(?:python|pypy)[0-9.]{0,5}$")
_SCRIPT = lazy(r"\.(?:py|sh|bash|pbs|slurm|sbatch)$")


def base(word: str) -> str:
    """`/opt/venv/bin/torchrun` is torchrun."""
    return word.rstrip("/").rsplit("/", 1)[-1]


def is_python(word: str) -> bool:
    return bool(_PYTHON.match(base(word)))


def is_launch(words: Sequence[str]) -> bool:
    """Whether these words launch a tool, a server or a script (environment assignments and wrappers may come first)."""
    _, rest = split_assignments(words)
    for _ in range(4):
        if rest and base(rest[0]) in WRAPPERS:
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or re.match(r"^[0-9]{1,6}[smhd]?$", rest[0])):
                rest = rest[1:]
            _, rest = split_assignments(rest)
    if not rest:
        return False
    first = base(rest[0])
    if first in LAUNCHERS:
        return len(rest) > 1
    if is_python(rest[0]):
        return any(_SCRIPT.search(word) for word in rest[1:6]) or ("-m" in rest[1:4] and len(rest) > 2) or "-c" in rest[1:4]
    if first in ("bash", "sh"):
        return any(_SCRIPT.search(word) for word in rest[1:4])
    return bool(_SCRIPT.search(rest[0])) and ("/" in rest[0] or len(rest) > 1)


def looks_typed(words: Sequence[str]) -> bool:
    """Whether a bare line reads as a command and not as prose that begins with a program's name."""
    _, rest = split_assignments(words)
    return any((word.startswith("-") and len(word) > 1) or _SCRIPT.search(word) or "/" in word for word in rest[1:])


def server_of_image(image: str) -> tuple[str, ...]:
    """The program that an image of a known server starts when it is given flags alone."""
    if re.search(r"tgi|text-generation", image):
        return ("text-generation-launcher",)
    return ("python", "-m", "vllm.entrypoints.openai.api_server") if "vllm" in image else ()


def command_event(line: Line, words: Sequence[str], raw: str) -> Event:
    """The launch line as an event; `argv` keeps leading environment assignments, `program` is what follows them."""
    _, rest = split_assignments(words)
    program = base(rest[0]) if rest else ""
    return Event("command", line.origin, {"program": program, "argv": tuple(words), "raw": raw[:4000]}, line.entity, line.time)
