"""Where the daemon's state and socket are, from the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from neuronwatch.cli.main import UsageError


def state_directory(args: argparse.Namespace) -> Path:
    """Raises UsageError where no place is named."""
    from neuronwatch.store import state_dir
    from neuronwatch.store.errors import StoreError

    try:
        return Path(args.state_dir) if args.state_dir else state_dir.default(Path(args.host_root))
    except StoreError as error:
        raise UsageError(f"{error}; {error.mend}") from error


def socket_of(args: argparse.Namespace) -> Path:
    """Where the daemon is asked; whether anybody listens there is seen when it is asked."""
    return Path(args.socket) if args.socket else state_directory(args) / "neuronwatch.sock"


def prepared(args: argparse.Namespace) -> tuple[Path, Path]:
    """State directory, made where it is not there, and socket. Raises StoreError."""
    from neuronwatch.store import state_dir

    socket = state_dir.socket_path(state_directory(args), Path(args.socket) if args.socket else None)
    return state_dir.prepare(state_directory(args)), socket
