"""The driver's sysfs tree: which files of a device hold values, and the values as `path = value` lines. Read-only: writing to
a counter clears it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from neuronwatch.source.host.root import HostRoot

NOT_READ = frozenset(("reset", "notify_delay", "uevent", "dev", "autosuspend_delay_ms"))
"""Triggers and noise: a read of a trigger tells nothing."""
NOT_ENTERED = frozenset(("subsystem", "device", "power_supply"))
MAX_FILES = 60_000
MAX_VALUE = 16 * 1024
MAX_DEPTH = 8


def device_values(root: HostRoot, directory: str, limit: int) -> tuple[list[tuple[str, str]], int]:
    """Path (below `directory`) and text of at most `limit` lines of the files of one device, and how many files could not be
    read: for the host's tree, and for one among evidence. A file that is longer than a value can be is left to others."""
    values: list[tuple[str, str]] = []
    unread = 0
    for name, _ in value_files(root, directory):
        if len(values) >= limit:
            break
        data = root.read(directory + name, MAX_VALUE + 1)
        if data is None:
            unread += 1
        else:
            values += [(name, part) for part in value_lines(data)]
    return values[:limit], unread


_SUM = "/stats/memory_usage/device_mem/total"


def is_told(name: str) -> bool:
    """Whether the host's own text has this file of a device. A device of eight cores has a thousand files; what is left out are
    last changes and peaks, and what of a core is neither memory nor the outcome of executions."""
    if name.endswith(("/present", "/peak")):
        return False
    return not name.startswith("/neuron_core") or (
        name.endswith("/total") and ("/stats/status/" in name or "/memory_usage/" in name)
    )


def told_lines(name: str, data: bytes) -> list[str]:
    """The lines that the host's own text has for a value; none for a counter that is 0, but for the memory of a core."""
    lines = value_lines(data)
    return [] if lines == ["0"] and name.endswith("/total") and not name.endswith(_SUM) else lines


def value_lines(data: bytes) -> list[str]:
    """The lines that a value is shown as; none for what is longer than a value can be."""
    text = data.decode("utf-8", "replace").strip()
    return [part.strip() for part in text.splitlines() or [""]] if len(text) <= MAX_VALUE else []


def value_files(root: HostRoot, directory: str) -> Iterator[tuple[str, str]]:
    """Name (below `directory`, with a leading `/`) and real path of the files of one device that hold values, in order. The
    device itself may be a link; links below it are not followed: they lead elsewhere."""
    where = root.place(directory)
    if where is not None:
        yield from _below(str(where), 0)


UPPER = 3
"""Depth down to which the names below a device tell of new cores, and of new kinds of counters and of memory."""


def names_above(place: str, depth: int = 0) -> int:
    """The number of names below a device, down to UPPER: of a core `stats` and the kinds of what is counted there."""
    try:
        with os.scandir(place) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return 0
    if depth == UPPER:
        return len(names)
    below = (name for name, is_directory in names if is_directory and name not in NOT_ENTERED)
    return len(names) + sum(names_above(f"{place}/{name}", depth + 1) for name in below)


def _below(place: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        return
    try:
        with os.scandir(place) as entries:
            found = sorted((entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        return
    for name, is_link, is_directory in found:
        if is_link or name in NOT_READ or name in NOT_ENTERED or (name == "power" and depth == 0):
            continue  # the top-level power directory is the kernel's, not the driver's
        if is_directory:
            for inner, path in _below(f"{place}/{name}", depth + 1):
                yield f"/{name}{inner}", path
        else:
            yield f"/{name}", f"{place}/{name}"
