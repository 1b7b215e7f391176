"""`neuronwatch record [--out DIR] [--seconds N]`: what the daemon reads, as a capture that `diagnose` and `replay` take."""

from __future__ import annotations

import argparse
import json
import os
import select
import time
from typing import TYPE_CHECKING, Any

from neuronwatch.cli.main import add_global_arguments, fail

if TYPE_CHECKING:
    from neuronwatch.daemon.client import Client

PATIENCE = 60.0
"""Seconds for the end of a recording: what waits is written then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("--out", metavar="DIR", help="a new or empty directory (default: neuronwatch-TIME here)")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long (default: until Ctrl-C)")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.cli.places import socket_of
    from neuronwatch.daemon.client import Client, NoDaemon
    from neuronwatch.daemon.protocol import ApiError

    directory = os.path.abspath(args.out or time.strftime("neuronwatch-%Y%m%d-%H%M%S", time.gmtime()))
    try:
        with Client(socket_of(args), timeout=PATIENCE) as client:
            client.call("record", do="start", directory=directory)
            done = _wait(client, args.seconds)
    except (NoDaemon, ApiError) as error:
        fail(1, error.code if isinstance(error, ApiError) else "unavailable", str(error), args.format == "json")
        return 1
    print(json.dumps(done) if args.format == "json" else f"{done['directory']}: {done['bytes']:,} bytes of time line")
    return 0


def _wait(client: Client, seconds: float | None) -> dict[str, Any]:
    """Stays connected until the time is over: the recording ends with the connection. What it wrote."""
    end = None if seconds is None else time.monotonic() + max(0.0, seconds)
    try:
        while end is None or time.monotonic() < end:
            wait = 0.5 if end is None else min(0.5, max(0.0, end - time.monotonic()))
            if select.select([client], [], [], wait)[0]:
                client.event(0.0)  # nobody asked for one: it is the end of the connection, which is said
    except KeyboardInterrupt:
        pass
    done: dict[str, Any] = client.call("record", do="stop")
    return done
