"""Facts of the live host, or of a host's files below a directory. Most ways give bytes under a virtual path, which the same
parsers read that read evidence; only what has no text of its own (modes, links, counts) comes as facts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Union

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.source.host.root import HostRoot, Output, VirtualFile

__all__ = ["NO_NEURON", "HostItem", "HostRoot", "Output", "VirtualFile", "host_sources"]

HostItem = Union[VirtualFile, Fact, SourceReport]

NO_NEURON = "host:/dev/neuron*"
"""Path of the one report, in state missing, that a machine without Neuron hardware gives."""

WAYS = ("system", "devices", "driver", "packages", "processes", "tools", "kernel_log", "cgroup", "compile_cache")
"""Modules of this package, each with `collect(root) -> Iterator[HostItem]`; in the order in which a person would look."""


def host_sources(root: HostRoot, python: str | Path | None = None) -> Iterator[HostItem]:
    """Everything that the host tells. `python`: an interpreter or a venv whose packages are read too. A way that fails is a
    report, the others still speak."""
    elsewhere = root.live and not sys.platform.startswith("linux")
    for name in ("system", "packages") if elsewhere else WAYS:
        module = importlib.import_module(f"neuronwatch.source.host.{name}")
        try:
            if name == "packages":
                yield from module.collect(root, python)
            else:
                yield from module.collect(root)
        except OSError as error:
            yield SourceReport(f"host:{name}", name, "failed", (error.strerror or str(error)).lower())
