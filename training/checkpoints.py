"""Checkpoints that are whole or not there: written aside, marked with the size of each file, then renamed into place."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

MARKER = "done"
STAGING = ".saving"
_NAME = re.compile(r"checkpoint-(\d{1,12})")


def seal(directory: Path) -> None:
    """Everything in it is on disk, and the marker says what there is. Raises OSError."""
    sizes = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != MARKER:
            with open(path, "rb") as file:
                os.fsync(file.fileno())
            sizes[str(path.relative_to(directory))] = path.stat().st_size
    temporary = directory / f".{MARKER}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(sizes, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(directory / MARKER)


def trouble(directory: Path) -> str:
    """Why a checkpoint cannot be trusted, "" where it can."""
    try:
        sizes = json.loads((directory / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "no marker: it was not written to its end"
    except (OSError, ValueError) as error:
        return f"its marker cannot be read: {error}"
    if not isinstance(sizes, dict):
        return "its marker is damaged"
    for name, size in sizes.items():
        path = directory / name
        if not path.is_file() or path.stat().st_size != size:
            return f"{name} is torn: {path.stat().st_size if path.is_file() else 0} of {size} bytes"
        if name.endswith(".safetensors") and (found := _header(path)):
            return f"{name}: {found}"
    return ""


def _header(path: Path) -> str:
    """What is wrong with the header of a safetensors file."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= 100_000_000:
            return "no safetensors header"
        try:
            entries = json.loads(file.read(length))
        except ValueError:
            return "its header is damaged"
    end = max((entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"), default=0)
    have = path.stat().st_size - 8 - length
    return "" if have == end else f"{have} of {end} bytes of tensors"


def all_of(output: Path) -> list[Path]:
    """Checkpoints there, the oldest first."""
    found = [path for path in output.glob("checkpoint-*") if _NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: int(path.name.partition("-")[2]))


def newest(output: Path) -> tuple[Path | None, list[str]]:
    """The newest that can be trusted, and what was passed over."""
    passed = []
    for path in reversed(all_of(output)):
        why = trouble(path)
        if not why:
            return path, passed
        passed.append(f"{path.name}: {why}")
    return None, passed


def prune(output: Path, limit: int | None) -> None:
    """Keeps the newest `limit` good ones. Those that cannot be trusted are not touched: a person may want to look."""
    if not limit:
        return
    good = [path for path in all_of(output) if not trouble(path)]
    for path in good[: -max(1, limit)]:
        shutil.rmtree(path, ignore_errors=True)
