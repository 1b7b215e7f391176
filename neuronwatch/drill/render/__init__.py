"""The state of the machine as files of the host; one file per part of the tree."""

from __future__ import annotations

from typing import Protocol

from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine


class Part(Protocol):
    """One part of the tree; `render` writes what changed since the last time."""

    def render(self) -> None: ...


def everything(machine: Machine, files: Files) -> list[Part]:
    """All parts, in the order in which they are written at a tick: a package before the driver that is loaded from it, and what the
    tools read last."""
    from neuronwatch.drill.render import caches, nodes, packages, proc, state, sysfs

    return [packages.Packages(machine, files), sysfs.Sysfs(machine, files), nodes.Nodes(machine, files), proc.Proc(machine, files),
            caches.Caches(machine, files), state.State(machine, files)]  # fmt: skip
