"""Small JSON files that one process writes and another may be killed while writing: what is torn is never believed."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

MAX_JSON = 4 * 1024 * 1024


def read_json(path: Path) -> dict[str, Any] | None:
    """An object, or None where there is none. What is torn, no object, or no plain file is moved aside: it is never believed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        _aside(path)
        return None
    try:
        found = json.loads(_all_of(descriptor))
    except (OSError, ValueError, RecursionError):
        found = None
    finally:
        os.close(descriptor)
    if isinstance(found, dict):
        return found
    _aside(path)
    return None


def _all_of(descriptor: int) -> bytes:
    """Raises OSError for a directory, ValueError for what is too large."""
    data = b""
    while part := os.read(descriptor, 1 << 20):
        data += part
        if len(data) > MAX_JSON:
            raise ValueError("too large")
    return data


def _aside(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rename(path.with_name(f"{path.name}.torn-{time.time_ns()}"))


def write_json(path: Path, document: object, durable: bool = True) -> None:
    """Atomically; `durable`: on disk before it is there (what only serves until the next boot need not be). Raises OSError."""
    temporary = path.with_name(f".{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    temporary.replace(path)
