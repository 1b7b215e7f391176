"""The compile cache of the host: entries with their files, as the Neuron compiler's wrapper leaves them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

DIRECTORY = "/var/tmp/neuron-compile-cache"
FLAGS = "e30acd3a"
State = Literal["done", "failed", "locked", "empty", "empty-neff"]


@dataclass
class Entry:
    """One graph. `state`: done (NEFF and model.done), failed (model.log, no NEFF), locked (a compile is under way, or was),
    empty (a bare directory), empty-neff (a NEFF of no bytes). `time`: seconds since the epoch of the last change."""

    module: str
    state: State = "done"
    size: int = 2_400_000
    time: float = 0.0
    log: str = ""
    descriptors: int = 40_000
    """DMA descriptors that the graph asks for at its load."""
    format: str = "1.1"
    """Version of the NEFF's format, as its compiler writes it."""
    flags: str = FLAGS
    """Hash of the compiler's flags, the second part of the key."""


@dataclass
class CompileCache:
    """`compiler` and `hash` name the directory; `entries` are by module id without the suffix of the flags."""

    compiler: str
    hash: str
    entries: dict[str, Entry] = field(default_factory=dict)
    writable: bool = True
    unlockable: bool = False
    """The file system below it does not keep locks and look-ups together."""
    directory: str = DIRECTORY
    flags: str = FLAGS
    """Hash of the flags that jobs use now."""
    format: str = "1.1"
    """Version of the NEFF's format that the compiler writes."""

    @property
    def path(self) -> str:
        """`/var/tmp/neuron-compile-cache/neuronxcc-2.21.33363.0+82129205`."""
        return f"{self.directory}/neuronxcc-{self.compiler}+{self.hash}"

    def find(self, module: str) -> Entry | None:
        """The entry of a graph with the flags of now."""
        return self.entries.get(self.key(module))

    def key(self, module: str) -> str:
        return module if self.flags == FLAGS else f"{module}+{self.flags}"

    def where(self, module: str, flags: str = "") -> str:
        return f"{self.path}/MODULE_{module}+{flags or self.flags}"

    def neff(self, module: str) -> str:
        return f"{self.where(module)}/model.neff"

    def add(self, rng: random.Random, now: float, state: State = "done", size: int = 2_400_000) -> Entry:
        entry = Entry(str(rng.randrange(10**18, 10**19)), state, size, now)
        self.entries[entry.module] = entry
        return entry

    def at(self, neff: str) -> Entry | None:
        """The entry that a NEFF's path belongs to."""
        return next((entry for entry in self.entries.values() if self.neff(entry.module) == neff), None)

    def good(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.state == "done"]


def filled(compiler: str, rng: random.Random, now: float, count: int = 14) -> CompileCache:
    """A cache of a host that has run for some days."""
    cache = CompileCache(compiler, f"{rng.getrandbits(32):08x}")
    for number in range(count):
        cache.add(rng, now - 86_400 * 3 + number * 420, size=400_000 + rng.randrange(6_000_000))
    return cache
