"""How far followed texts were read: a small file of JSON, written whole and renamed into place."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

VERSION = 1
MAX_BYTES = 4 * 1024 * 1024
EVERY = 1.0
"""Seconds between two saves while something changes."""


class Position(NamedTuple):
    """A place in a file: which one (`device`, `inode`, and a digest of its first `head_size` bytes), the offset of the first
    byte that was not read, and the number of the line there (0: nobody has counted)."""

    device: int
    inode: int
    head_size: int
    head: str
    offset: int
    line: int


class Positions:
    """The positions by path, oldest file of a path first, and one number and text for a source that needs them.

    Without a file (None) nothing is remembered. A file that cannot be read is set aside and said in `note`; one that cannot
    be written is said there too, and tried again."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lost = self._unsaved = ""
        self.files: dict[str, list[Position]] = {}
        self.values: dict[str, Any] = {}
        self._saved_at = float("-inf")
        self._saved = b""
        if file is not None:
            self._load(file)

    @property
    def note(self) -> str:
        """What is wrong with this memory; "": nothing."""
        return "; ".join(part for part in (self._lost, self._unsaved) if part)

    def _load(self, file: Path) -> None:
        try:
            if file.stat().st_size > MAX_BYTES:
                raise ValueError("too big")
            state = json.loads(file.read_bytes())
            if state["version"] != VERSION:
                raise ValueError(f"version {state['version']!r} is not {VERSION}")
            self.files = {str(path): [_position(item) for item in items] for path, items in state["files"].items()}
            self.values = dict(state["values"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.files, self.values = {}, {}
            aside = file.with_name(file.name + ".broken")
            with contextlib.suppress(OSError):
                file.replace(aside)
            self._lost = f"the places up to which logs were read are lost ({error}); the file is now {aside.name}"

    def save(self, files: Callable[[], Mapping[str, Iterable[Position]]], now: float, force: bool = False) -> None:
        """Writes when something changed and the last time is not too short ago (`now`: seconds that only grow)."""
        file = self._file
        if file is None or (not force and now - self._saved_at < EVERY):
            return
        self._saved_at = now
        found = {path: list(items) for path, items in sorted(files().items())}
        state = {"version": VERSION, "values": self.values, "files": found}
        data = json.dumps(state, separators=(",", ":")).encode()
        if data == self._saved and file.exists():  # the state directory may be another one
            return
        try:
            _write(file, data)
            self._saved, self._unsaved = data, ""
        except OSError as error:
            self._unsaved = f"the places up to which logs were read cannot be saved: {(error.strerror or str(error)).lower()}"


def _write(file: Path, data: bytes) -> None:
    """So that nobody ever sees half of it. One daemon has a state directory, so one name will do."""
    fresh = file.with_name(f".{file.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(data)
    fresh.replace(file)


def _position(item: Any) -> Position:
    device, inode, head_size, head, offset, line = item
    numbers = (device, inode, head_size, offset, line)
    if not all(isinstance(number, int) and number >= 0 for number in numbers) or not isinstance(head, str):
        raise ValueError("not a position")
    return Position(device, inode, head_size, head, offset, line)
