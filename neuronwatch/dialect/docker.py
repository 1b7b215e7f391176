"""`docker run`, `podman run`, `nerdctl run` and `exec`: devices, environment, limits, image, and the command inside."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import Flags, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import server_of_image
from neuronwatch.parse._shell import ASSIGNMENT
from neuronwatch.parse._text import parse_size, to_int

_SWITCHES = frozenset(
    [
        "d",
        "detach",
        "i",
        "interactive",
        "t",
        "tty",
        "it",
        "ti",
        "itd",
        "dit",
        "td",
        "rm",
        "privileged",
        "init",
        "read_only",
        "p_all",
        "no_healthcheck",
        "oom_kill_disable",
        "sig_proxy",
        "disable_content_trust",
        "-d",
        "-i",
        "-t",
        "-it",
        "-ti",
        "-itd",
        "-dit",
        "-td",
        "-dt",
        "-P",
        "quiet",
        "-q",
    ]
)
_SHORT = {
    "-e": "--env",
    "-v": "--volume",
    "-p": "--publish",
    "-w": "--workdir",
    "-u": "--user",
    "-m": "--memory",
    "-h": "--hostname",
    "-l": "--label",
}
_LIMITS = {"nofile": "open_files", "nproc": "processes", "memlock": "locked_memory", "stack": "stack"}
_DEVICE = lazy(r"^/dev/neuron([0-9]{1,3})(?::|$)")


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in ("docker", "podman", "nerdctl") and _verb(argv)[0] in ("run", "exec", "create")


def _verb(argv: Sequence[str]) -> tuple[str, int]:
    for index, word in enumerate(argv[1:6], start=1):
        if word == "container":
            continue
        if not word.startswith("-"):
            return word, index
    return "", 1


def _flags(argv: Sequence[str]) -> Flags:
    return read_flags(argv[options_at(argv) :], _SWITCHES, _SHORT, stop=True)


def options_at(argv: Sequence[str]) -> int:
    """Where the options of `run` begin."""
    return _verb(argv)[1] + 1


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    flags = _flags(argv)
    verb = _verb(argv)[0]
    facts: dict[str, Value] = {"launch.program": program_of(argv), "launch.in_container": True}
    if verb != "exec":
        devices = [str(value) for value in flags.all("device")]
        passed = tuple(int(found.group(1)) for path in devices if (found := _DEVICE.match(path)))
        facts["launch.devices_passed"] = passed
        facts["launch.privileged"] = flags.get("privileged") is True
        if flags.rest:
            facts["launch.image"] = flags.rest[0]
    for value in flags.all("env"):
        assigned = ASSIGNMENT.match(str(value))
        if assigned:
            facts.update(of_environment(assigned.group(1), assigned.group(2)))
    for name, target in (("shm_size", "docker.shm_size"), ("memory", "docker.memory")):
        size = parse_size(str(flags.get(name) or ""))
        if size:
            facts[target] = size
    for value in flags.all("ulimit"):
        name, _, amount = str(value).partition("=")
        soft = to_int(amount.split(":", 1)[0])
        if name in _LIMITS and soft is not None:
            facts[f"limit.{_LIMITS[name]}"] = soft
    runtime = flags.get("runtime")
    if isinstance(runtime, str):
        facts["docker.runtime"] = runtime
    return facts


def unwrap(argv: Sequence[str]) -> Sequence[str]:
    """The command after the image. Images of known servers take their flags alone: then the server is put in front."""
    flags = _flags(argv)
    image, inner = (flags.rest[0], flags.rest[1:]) if flags.rest else ("", ())
    entrypoint = flags.get("entrypoint")
    if isinstance(entrypoint, str) and entrypoint:
        return (entrypoint, *inner)
    if inner and inner[0].startswith("-"):
        server = server_of_image(image)
        return (*server, *inner) if server else ()
    return inner
