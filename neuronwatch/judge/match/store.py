"""A small store of compiled tables by content: atomic, safe under concurrency, and never needed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

MAGIC = b"neuronwatch-match-7\n"
KEPT = 32
"""Older files than the newest KEPT are removed: each change of a rule leaves one behind."""


def digest(*parts: bytes) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:40]


def load(directory: Path | None, name: str) -> bytes | None:
    """What was stored under `name`, if it is whole and ours."""
    if directory is None:
        return None
    try:
        with open(directory / name, "rb") as handle:
            owner = os.fstat(handle.fileno())
            foreign = hasattr(os, "geteuid") and owner.st_uid not in (os.geteuid(), 0)
            if foreign or owner.st_mode & 0o022:
                return None
            data = handle.read()
    except OSError:
        return None
    body = data[len(MAGIC) + 32 :]
    whole = data.startswith(MAGIC) and hashlib.sha256(body).digest() == data[len(MAGIC) : len(MAGIC) + 32]
    return body if whole else None


def save(directory: Path | None, name: str, body: bytes) -> None:
    """Stores `body`; a directory that cannot be written is no error."""
    if directory is None:
        return
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".match-")
        try:
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(MAGIC + hashlib.sha256(body).digest() + body)
            Path(temporary).replace(directory / name)
        except OSError:
            Path(temporary).unlink()
            raise
        _prune(directory)
    except OSError:
        return


def _prune(directory: Path) -> None:
    files = sorted(directory.glob("*.match"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[KEPT:]:
        path.unlink()
