"""`docker inspect` (one object, a list, or its HostConfig alone): devices, privileges, limits, state, command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._json import Places, as_list, as_map, head_keys, load, texts
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._shell import ASSIGNMENT
from neuronwatch.parse._text import to_int
from neuronwatch.parse.api import Document, FileFormat
from neuronwatch.parse.one_value import signal_name

_KEYS = {"HostConfig", "Devices", "Privileged", "GraphDriver", "NetworkSettings", "State", "Config", "CapAdd", "Runtime"}


def _sniff(document: Document) -> float:
    keys = head_keys(document) & _KEYS
    if "HostConfig" in keys and len(keys) >= 2:
        return 0.9
    return 0.6 if {"Devices", "Privileged"} <= keys else 0.0


def _host(config: Mapping[str, object], places: Places) -> Iterator[Record]:
    if "Devices" in config:
        devices = [
            str(as_map(item).get("PathOnHost") or as_map(item).get("PathInContainer") or "") for item in as_list(config["Devices"])
        ]
        yield places.fact("docker.devices", tuple(path for path in devices if path)[:200], "Devices")
    if isinstance(config.get("Privileged"), bool):
        yield places.fact("docker.privileged", bool(config["Privileged"]), "Privileged")
    if isinstance(config.get("Runtime"), str):
        yield places.fact("docker.runtime", str(config["Runtime"]), "Runtime")
    shm, memory = to_int(config.get("ShmSize") or 0), to_int(config.get("Memory") or 0)
    if shm:
        yield places.fact("docker.shm_size", shm, "ShmSize")
    if memory:
        yield places.fact("docker.memory", memory, "Memory")
    for item in as_list(config.get("Ulimits"))[:30]:
        limit = as_map(item)
        soft = to_int(limit.get("Soft") or "")
        name = {"nofile": "open_files", "nproc": "processes", "memlock": "locked_memory", "stack": "stack"}.get(
            str(limit.get("Name"))
        )
        if name and soft is not None:
            yield places.fact(f"limit.{name}", soft, "Ulimits")


def _state(state: Mapping[str, object], places: Places) -> Iterator[Record]:
    if isinstance(state.get("OOMKilled"), bool):
        yield places.fact("docker.oom_killed", bool(state["OOMKilled"]), "OOMKilled")
    code = to_int(state.get("ExitCode") if state.get("ExitCode") is not None else "")
    if code is not None and state.get("Running") is not True:
        yield places.fact("process.exit_code", code, "ExitCode")
        if signal_name(code):
            yield places.fact("process.exit_signal", signal_name(code), "ExitCode")


def _container(config: Mapping[str, object], places: Places) -> Iterator[Record]:
    if isinstance(config.get("Image"), str):
        yield places.fact("launch.image", str(config["Image"]), "Image")
    for item in texts(config.get("Env"))[:500]:
        assigned = ASSIGNMENT.match(item)
        if assigned:
            for name, value in of_environment(assigned.group(1), assigned.group(2)):
                yield places.fact(name, value, "Env")
    words = texts(config.get("Entrypoint")) + texts(config.get("Cmd"))
    if words:
        origin = places.of("Cmd" if config.get("Cmd") else "Entrypoint")
        program = words[0].rsplit("/", 1)[-1]
        yield Event("command", origin, {"program": program, "argv": words, "raw": " ".join(words)[:4000]})


def _parse(document: Document) -> Iterator[Record]:
    root = load(document)
    places = Places(document)
    objects = [as_map(item) for item in as_list(root)] if isinstance(root, list) else [as_map(root)]
    for item in objects[:50]:
        host = as_map(item.get("HostConfig")) or (item if "Devices" in item else {})
        yield from _host(host, places)
        yield from _state(as_map(item.get("State")), places)
        yield from _container(as_map(item.get("Config")), places)
        if host:
            yield places.fact("launch.in_container", True, "HostConfig" if "HostConfig" in item else "Devices")


FORMAT = FileFormat(name="docker-inspect", kind="config", sniff=_sniff, parse=_parse)
