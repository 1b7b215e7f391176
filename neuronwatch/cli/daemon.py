"""`neuronwatch daemon`: watches this host until it is told to end. It stays in the foreground; logging goes to stderr."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from neuronwatch.cli.main import UsageError, add_global_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, formats=("text",))
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="how to log on stderr (default: text)")
    parser.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.cli import evidence
    from neuronwatch.daemon import places
    from neuronwatch.daemon.api import SocketInUse
    from neuronwatch.daemon.log import Log
    from neuronwatch.daemon.one import AnotherDaemon
    from neuronwatch.daemon.service import Places, Service

    state = places.state_directory(args.state_dir, args.host_root)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        service = Service(
            Places(Path(args.host_root), state, places.socket_path(args.socket, state)), Log(args.log_format),
            args.allow_exec, evidence.rule_directories(args.rules) if args.rules else None,
        )  # fmt: skip
    except (AnotherDaemon, SocketInUse) as error:
        sys.stderr.write(f"neuronwatch: {error}\n")
        return 1
    except OSError as error:
        raise UsageError(f"--state-dir {state}: {(error.strerror or str(error)).lower()}", str(state)) from error
    service.run()
    return 0
