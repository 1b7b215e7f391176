"""Checkpoints that verify: whole files, and the `done` marker where this writer makes one. Headers are enough to see a torn one."""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
from pathlib import Path
from typing import NamedTuple

from neuronwatch.parse.safetensors import MAX_HEADER
from neuronwatch.remedy.api import Checkpoint

NAME = re.compile(r"(?:checkpoint|global_step|step|ckpt|epoch)[-_]?(\d{1,9})")
DONE = ("done", ".done", "_SUCCESS")
MAX_FILES = 20_000
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
PICKLED = (".bin", ".pt", ".pth")


class Torn(NamedTuple):
    """A checkpoint that must not be used, and why."""

    path: str
    why: str


def look(directory: Path) -> tuple[list[Checkpoint], list[Torn]]:
    """The checkpoints of an output directory: those that verify, newest (highest step) first, and those that do not."""
    try:
        with os.scandir(directory) as found:
            places = [(int(match[1]), Path(item.path)) for item in found if item.is_dir() and (match := NAME.fullmatch(item.name))]
    except OSError:
        return [], []
    marked = any(_marker(path) for _, path in places)
    good, torn = [], []
    for step, path in sorted(places, reverse=True):
        why = wrong(path, marked)
        if why:
            torn.append(Torn(str(path), why))
        else:
            good.append(Checkpoint(str(path), step, path.stat().st_mtime))
    return good, torn


def wrong(path: Path, marked: bool = False) -> str:
    """Why a checkpoint must not be used, "" where it verifies. `marked`: this writer leaves a `done` marker in a finished one."""
    if marked and not _marker(path):
        return "its `done` marker is missing"
    weights = 0
    files = 0
    for place, _, names in os.walk(path):
        for name in sorted(names):
            files += 1
            if files > MAX_FILES:
                return f"more than {MAX_FILES} files"
            file = Path(place) / name
            weights += name.endswith(WEIGHTS) or ".xser" in place or "shards" in place
            why = _file(file)
            if why:
                return f"{file.relative_to(path)}: {why}"
    return "" if weights else "it holds no weights"


def _marker(path: Path) -> bool:
    return any((path / name).is_file() for name in DONE)


def _file(path: Path) -> str:
    name = path.name
    try:
        if name.endswith((".tmp", ".partial", ".incomplete")):
            return "left by a writer that did not finish"
        size = path.stat().st_size
        if name.endswith(".safetensors"):
            return _safetensors(path, size)
        if name.endswith(".safetensors.index.json"):
            return _index(path)
        if name.endswith(PICKLED):
            return "" if size > 0 and (zipfile.is_zipfile(path) or _pickle(path)) else "torn or empty"
        if name in ("trainer_state.json", "config.json", "adapter_config.json"):
            json.loads(path.read_bytes()[: 1 << 26])
    except (OSError, ValueError, RecursionError) as error:
        return f"cannot be read: {type(error).__name__}"
    return ""


def _safetensors(path: Path, size: int) -> str:
    """The header is whole, and the file ends where the last tensor does."""
    with path.open("rb") as file:
        head = file.read(8)
        if len(head) < 8:
            return "torn: no header"
        length = struct.unpack("<Q", head)[0]
        if not 2 <= length <= MAX_HEADER or 8 + length > size:
            return "torn: the header is longer than the file"
        header = json.loads(file.read(length))
    ends = [item["data_offsets"][1] for name, item in header.items() if name != "__metadata__"]
    end = 8 + length + max(ends, default=0)
    return "" if end == size else f"torn: {size} of {end} bytes are there" if size < end else "longer than its header says"


def _index(path: Path) -> str:
    missing = {str(name) for name in json.loads(path.read_bytes()).get("weight_map", {}).values()} - set(os.listdir(path.parent))
    return f"{sorted(missing)[0]} is missing" if missing else ""


def _pickle(path: Path) -> bool:
    """The old format: a pickle that begins and ends as one."""
    with path.open("rb") as file:
        first = file.read(2)
        file.seek(-1, os.SEEK_END)
        return first[:1] == b"\x80" and file.read(1) == b"."
