"""The directory of a drill host: who may take it, and what of an earlier host is cleared away."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

from neuronwatch.drill.host import MARKER

MADE = ("sys", "proc", "dev", "opt", "lib", "etc", "run", "usr", ".drill", "var/log", "var/tmp", "var/lib/dpkg", "var/lib/dkms")
"""What a host writes. The state directory (var/lib/neuronwatch) and the home directories of an earlier host stay."""


class Taken(ValueError):
    """The directory cannot be used. The text says why and what to do."""


def take(root: Path) -> None:
    """Makes the directory ready. Raises Taken for one with other content, or where a host runs."""
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        names = os.listdir(root)
    except OSError as error:
        raise Taken(f"{root}: {(error.strerror or str(error)).lower()}") from None
    if names and not (root / ".drill").is_dir():
        raise Taken(f"{root}: is not empty and was no drill host; take another directory")
    pid = running(root)
    if pid is not None:
        raise Taken(f"{root}: a drill host runs there already (pid {pid})")
    state = os.stat(root)
    if hasattr(os, "geteuid") and (state.st_uid != os.geteuid() or state.st_mode & 0o022):
        raise Taken(f"{root}: must belong to you and be writable by nobody else")
    for name in MADE:
        shutil.rmtree(root / name, ignore_errors=True)
    (root / ".drill").mkdir()


def running(root: Path) -> int | None:
    """The pid of the host that runs there."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        pid = int(json.loads((root / MARKER).read_bytes())["pid"])
        os.kill(pid, 0)
        return pid
    return None
