"""Directories among evidence that say something as a whole: a compile cache (empty NEFFs, old locks: sizes and times are
told by no file's content) and the driver's sysfs tree (a number tells nothing without its path). Each becomes the listing
that the live host gives, as one more text of the evidence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Union

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source.host import compile_cache, sysfs_tree
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.tree import Listing, shown

_DEVICE = re.compile(r"neuron\d{1,3}")


def is_device(place: str, name: str, parent: str) -> bool:
    """Whether a directory holds the driver's values of one device."""
    if not _DEVICE.fullmatch(name):
        return False
    return parent == "neuron_device" or any(os.path.lexists(os.path.join(place, inner)) for inner in ("core_count", "stats"))


def of_device(place: str, name: str, path: str) -> tuple[list[Union[Listing, SourceReport]], frozenset[str]]:
    """The values of one device as `neuron0/stats/... = value`, and the files below `place` that are told by it."""
    root = HostRoot(place)
    values, unread = sysfs_tree.device_values(root, "", sysfs_tree.MAX_FILES)
    lines = [f"{shown(name + file)} = {text}" for file, text in values]
    found: list[Union[Listing, SourceReport]] = [Listing(path, ("\n".join(lines) + "\n").encode())] if lines else []
    if unread or len(values) >= sysfs_tree.MAX_FILES:
        why = f"{unread} files could not be read" if unread else f"only the first {sysfs_tree.MAX_FILES} values were read"
        found.append(SourceReport(f"{path}: values", "sysfs", "partial", why))
    return found, frozenset(file for file, _ in values)


def of_cache(place: str, name: str, path: str) -> Iterator[Union[Listing, SourceReport]]:
    """The entries of a compiler's directory, or the one entry that `place` is."""
    listing = compile_cache.Listing(HostRoot(place))
    if name.startswith("MODULE_"):
        listing.add_entry("", name)
    else:
        listing.add("", name)
    if listing.data(name):
        yield Listing(path, listing.data(name))
    if listing.full:
        yield SourceReport(f"{path}: entries", "compile-cache", "partial", listing.full)
