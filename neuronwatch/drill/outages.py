"""Faults of the way to look instead of the host: a source that is killed, hung, slow, garbled or absent."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection
from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine

SOURCES = {
    "sysfs": "the driver's sysfs tree", "neuron-monitor": "neuron-monitor", "neuron-ls": "neuron-ls", "neuron-top": "neuron-top",
    "kernel-log": "the kernel log", "runtime-log": "the logs of the runtime", "processes": "/proc of the host",
    "compile-cache": "the compile cache",
}  # fmt: skip
HOW = {
    "killed": "ends by a signal while it works", "hung": "does not answer, for as long as the fault lasts",
    "slow": "answers only after many seconds", "garbled": "gives half documents and bytes that are no text",
    "absent": "is not there, or may not be read",
}  # fmt: skip


def names() -> list[str]:
    return [f"source.{source}.{how}" for source in SOURCES for how in HOW]


def what(name: str) -> str:
    """One sentence about `source.NAME.HOW`."""
    source, how = named(name)
    text = SOURCES[source]
    return f"{text[0].upper() if text[0] == 't' else text[0]}{text[1:]} {HOW[how]}."


def named(name: str) -> tuple[str, str]:
    """(source, how). Raises ValueError with the nearest name."""
    if name not in names():
        from neuronwatch.drill.host import unknown

        raise ValueError(unknown(name, names()))
    source, how = name.removeprefix("source.").rsplit(".", 1)
    return source, how


def run(machine: Machine, files: Files, fault: tuple[str, str], injection: Injection) -> Iterator[float]:
    """Takes the source away in that way until it is cleared."""
    source, how = fault
    machine.outages[source] = how
    yield from injection.held()
    machine.outages.pop(source, None)
