"""The files under the given paths, in a fixed order, without following anything out of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Union

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source import pipe

BATCH = 100_000
"""Names of one directory that are held (and sorted) at a time."""
MAX_DEPTH = 200
LISTING = "(listing)"
"""The name under which a directory as a whole is shown."""
VANISHED = "it vanished while the evidence was read"


class SourceFile(NamedTuple):
    """A regular file: `path` as shown, `place` to open it, size and modification time (epoch seconds). `given`: named by
    the user, so a link may be followed."""

    path: str
    place: str
    size: int
    mtime: float
    given: bool = False


class Listing(NamedTuple):
    """What a directory says as a whole (see listings.py), as a text."""

    path: str
    data: bytes


Entry = Union[SourceFile, Listing, SourceReport]


def shown(name: str) -> str:
    """A name that is safe to print: control characters and bytes that are no UTF-8 are written as escapes."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def walk(paths: Sequence[Path]) -> Iterator[Entry]:
    """Everything under `paths`, each in the order given, directories by name. A path that is a link is followed, links
    further down are not: what they point to is either inside and read there, or outside and none of our business."""
    names = _names(paths)
    for path, name in zip(paths, names, strict=True):
        yield from _root(str(path), name)


def _names(paths: Sequence[Path]) -> list[str]:
    """What stands in front of the paths of each root: nothing for a single directory."""
    if len(paths) == 1:
        return [""]
    names = [path.name or os.path.basename(_absolute(path)) or str(path) for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def _absolute(path: Path) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone
        return str(path)


def _root(place: str, name: str) -> Iterator[Entry]:
    if place == pipe.NAME:
        yield SourceFile(pipe.SHOWN, place, 0, 0.0, True)
        return
    label = shown(name or os.path.basename(place.rstrip("/")) or place)
    try:
        status = Path(place).stat()
    except (OSError, ValueError) as error:
        yield SourceReport(label, "unknown", "missing", _reason(error))
        return
    if stat.S_ISDIR(status.st_mode):
        try:
            root = os.path.realpath(place)
        except OSError as error:  # `.` in a directory that is gone
            yield SourceReport(label, "unknown", "failed", _reason(error))
            return
        yield from _directory(place, shown(name), root, 0)
    elif stat.S_ISREG(status.st_mode):
        yield SourceFile(label, place, status.st_size, status.st_mtime, True)
    else:
        yield SourceReport(label, "unknown", "skipped", _what(status.st_mode))


def _directory(place: str, label: str, root: str, depth: int) -> Iterator[Entry]:
    if depth > MAX_DEPTH:
        yield SourceReport(label, "unknown", "skipped", f"directories deeper than {MAX_DEPTH}")
        return
    try:
        yield from _as_a_whole(place, label, root, depth)
    except OSError as error:
        yield SourceReport(label or ".", "unknown", "failed", _reason(error))


def _as_a_whole(place: str, label: str, root: str, depth: int) -> Iterator[Entry]:
    """The entries of a directory, and before them the listing of one that is a compile cache or a device of the driver."""
    here = place if depth else root
    own, listing = os.path.basename(here), f"{label}/{LISTING}" if label else LISTING
    values: frozenset[str] = frozenset()
    cache = False
    if own.startswith("neuron") and listings().is_device(place, own, os.path.basename(os.path.dirname(here))):
        found, values = listings().of_device(place, own, listing)
        yield from found
    elif own.startswith("MODULE_") and not depth:
        cache = True
        yield from listings().of_cache(place, own, listing)
    for name in _sorted_names(place):
        inner = os.path.join(place, name)
        if not cache and name.startswith("MODULE_") and os.path.isdir(inner):
            cache = True
            yield from listings().of_cache(place, own, listing)
        for entry in _entry(inner, f"{label}/{shown(name)}" if label else shown(name), root, depth):
            if not values or not isinstance(entry, SourceFile) or entry.place[len(place) :] not in values:
                yield entry


def listings() -> ModuleType:
    """Loaded when there is something to list: it brings the reading of hosts with it."""
    from neuronwatch.source import listings as module

    return module


def _sorted_names(place: str) -> Iterator[str]:
    """Names in order; of a huge directory in several passes, so that not all are held at once."""
    last: str | None = None
    while True:
        batch: list[str] = []
        more = False
        with os.scandir(place) as entries:
            for entry in entries:
                if last is not None and entry.name <= last:
                    continue
                batch.append(entry.name)
                if len(batch) >= 2 * BATCH:
                    batch.sort()
                    del batch[BATCH:]
                    more = True
        batch.sort()
        if len(batch) > BATCH:
            del batch[BATCH:]
            more = True
        yield from batch
        if not more or not batch:
            return
        last = batch[-1]


def _entry(place: str, label: str, root: str, depth: int) -> Iterator[Entry]:
    try:
        status = os.lstat(place)
    except (OSError, ValueError) as error:
        yield SourceReport(label, "unknown", "failed", VANISHED if isinstance(error, FileNotFoundError) else _reason(error))
        return
    mode = status.st_mode
    if stat.S_ISREG(mode):
        yield SourceFile(label, place, status.st_size, status.st_mtime)
    elif stat.S_ISDIR(mode):
        yield from _directory(place, label, root, depth + 1)
    elif stat.S_ISLNK(mode):
        yield SourceReport(label, "link", "skipped", _link(place, root))
    else:
        yield SourceReport(label, "unknown", "skipped", _what(mode))


def _link(place: str, root: str) -> str:
    try:
        target = os.path.realpath(place)
        inside = target == root or target.startswith(root.rstrip("/") + "/")
        if not inside:
            return "a link out of the evidence is not followed"
        return "a link; what it points to is read in its own place" if os.path.exists(target) else "a link to nothing"
    except (OSError, ValueError) as error:
        return _reason(error)


def _what(mode: int) -> str:
    for test, word in (
        (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
    ):  # fmt: skip
        if test(mode):
            return f"{word} is not read"
    return "not a regular file"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
