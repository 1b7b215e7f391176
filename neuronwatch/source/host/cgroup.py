"""Limits of the control group that we run in (version 2, or 1): memory, CPUs, kills for memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot

BASE = "/sys/fs/cgroup"
NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as a number near 2^63."""


def collect(root: HostRoot) -> Iterator[HostItem]:
    for directory in _groups(root, ""):
        yield from _number(root, f"{directory}/memory.max", "cgroup.memory_max")
        yield from _number(root, f"{directory}/memory.current", "cgroup.memory_current")
        yield from _kills(root, f"{directory}/memory.events")
        yield from _cpus(root, f"{directory}/cpu.max")
        if root.exists(f"{directory}/memory.current"):
            return
    for directory in _groups(root, "memory"):
        yield from _number(root, f"{directory}/memory.limit_in_bytes", "cgroup.memory_max")
        yield from _number(root, f"{directory}/memory.usage_in_bytes", "cgroup.memory_current")
        yield from _kills(root, f"{directory}/memory.oom_control")
        if root.exists(f"{directory}/memory.usage_in_bytes"):
            return


def _groups(root: HostRoot, controller: str) -> Iterator[str]:
    """Directories of our group, the own one first; in a container only the top is visible and is the own one."""
    base = f"{BASE}/{controller}".rstrip("/")
    for line in (root.text("/proc/self/cgroup") or "").splitlines():
        cells = line.split(":", 2)
        if len(cells) == 3 and controller in cells[1].split(",") and ".." not in cells[2] and cells[2] != "/":
            yield base + cells[2]
    yield base


def _number(root: HostRoot, name: str, fact: str) -> Iterator[Fact]:
    text = root.text(name, 64)
    if text and text.isdecimal() and int(text) < NO_LIMIT:
        yield Fact(fact, int(text), Origin(f"host:{name}", 1, text))


def _kills(root: HostRoot, name: str) -> Iterator[Fact]:
    for number, line in enumerate((root.text(name, 4096) or "").splitlines(), start=1):
        found = re.match(r"^oom_kill (\d{1,12})$", line)
        if found:
            yield Fact("host.cgroup_oom_kills", int(found.group(1)), Origin(f"host:{name}", number, line))


def _cpus(root: HostRoot, name: str) -> Iterator[Fact]:
    found = re.match(r"^(\d{1,12}) ([1-9]\d{0,11})$", root.text(name, 64) or "")
    if found:
        yield Fact("cgroup.cpus", int(found.group(1)) / int(found.group(2)), Origin(f"host:{name}", 1, found.group()))
