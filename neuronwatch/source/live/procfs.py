"""psutil for the host that is watched: its functions read the /proc of that root."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import ModuleType

from neuronwatch.source.host.root import HostRoot

_LOCK = threading.Lock()


@contextlib.contextmanager
def procfs(root: HostRoot) -> Iterator[ModuleType]:
    """psutil, reading the root's /proc while this is active (the path is global in psutil, so callers take turns)."""
    import psutil

    with _LOCK:
        before = getattr(psutil, "PROCFS_PATH", "/proc")
        psutil.PROCFS_PATH = "/proc" if root.live else str(root.path / "proc")
        try:
            yield psutil
        finally:
            psutil.PROCFS_PATH = before
