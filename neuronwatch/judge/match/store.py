"""A small store of compiled tables by content: atomic, safe under concurrency, and never needed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from neuronwatch.model.digest import blake2b

MAGIC = b"neuronwatch-match-9\n"
KEPT = 32
"""Older files than the newest KEPT are removed: each change of a rule leaves one behind."""


def digest(*parts: bytes) -> str:
    state = blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


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
    whole = data.startswith(MAGIC) and blake2b(body, digest_size=32).digest() == data[len(MAGIC) : len(MAGIC) + 32]
    return body if whole else None


def save(directory: Path | None, name: str, body: bytes) -> None:
    """Stores `body`; a directory that cannot be written is no error."""
    if directory is not None and write_whole(directory, name, MAGIC + blake2b(body, digest_size=32).digest() + body):
        prune(directory, "*.match", KEPT)


def write_whole(directory: Path, name: str, data: bytes) -> bool:
    """Writes a file of a cache so that nobody ever sees half of it: the one way to fill any of our caches. False where the
    directory cannot be written: a cache is never needed."""
    import tempfile

    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(data)
            Path(temporary).replace(directory / name)
        except BaseException:  # also an interrupt leaves nothing behind
            Path(temporary).unlink(missing_ok=True)
            raise
    except (OSError, ValueError):
        return False
    return True


def prune(directory: Path, pattern: str, kept: int) -> None:
    """Removes all but the newest `kept` files; another process may do the same at the same time."""
    with contextlib.suppress(OSError):
        files = sorted(directory.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[kept:]:
            path.unlink(missing_ok=True)
