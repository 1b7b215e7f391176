"""Where a daemon keeps its state and listens: the same answer for the daemon and its clients."""

from __future__ import annotations

import os
from pathlib import Path

SOCKET = "neuronwatch.sock"


def state_directory(given: str | None, host_root: str = "/") -> Path:
    """The state directory of `--state-dir`, else of a host below a root inside it, else systemd's, else this user's."""
    if given:
        return Path(given)
    if os.path.abspath(host_root) != os.path.abspath(os.sep):
        return Path(host_root) / "var/lib/neuronwatch"
    if os.environ.get("STATE_DIRECTORY"):
        return Path(os.environ["STATE_DIRECTORY"].split(":")[0])
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/neuronwatch")
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path("~/.local/state").expanduser()) / "neuronwatch"


def socket_path(given: str | None, state: Path) -> Path:
    return Path(given) if given else state / SOCKET
