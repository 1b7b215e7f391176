"""Where `neuronwatch top` gets its news: the daemon that runs, or a private one."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import socket_of

if TYPE_CHECKING:
    from neuronwatch.tui.feed.live import Live
    from neuronwatch.tui.feed.replay import Replayed


@contextlib.contextmanager
def feed(args: argparse.Namespace) -> Iterator[Live | Replayed]:
    """A feed that is ready to start; what was made for it is removed at the end. Raises UsageError where a daemon was named and
    none is there."""
    from neuronwatch.tui.feed.live import Live
    from neuronwatch.tui.feed.private import Private, answers
    from neuronwatch.tui.feed.room import Room

    if args.replay:
        yield _recording(args)
        return
    if args.demo:
        from neuronwatch.cli.demo import Demo

        if args.socket or args.state_dir or args.config or args.host_root != "/":
            raise UsageError(
                "--demo shows a host and a daemon of its own: it takes no --host-root, --socket, --state-dir, --config"
            )
        with Room() as room:
            yield Demo(room)
        return
    socket = socket_of(args)
    if answers(socket):
        yield Live(socket)
        return
    if args.socket or args.state_dir:
        named = f"--socket {args.socket}" if args.socket else f"--state-dir {args.state_dir}"
        raise UsageError(
            f"no daemon is running with {named}: start `neuronwatch daemon {named}`, or leave the option out for a private one"
        )
    with Room() as room:
        private = Private(room, options(args))
        private.start()
        try:
            yield Live(private.socket, private.revive, "private")
        finally:
            private.close()


def _recording(args: argparse.Namespace) -> Replayed:
    from neuronwatch.cli import evidence
    from neuronwatch.cli.main import existing
    from neuronwatch.store.errors import StoreError
    from neuronwatch.tui.feed.replay import Replayed

    if args.demo:
        raise UsageError("--demo and --replay show different hosts: give one of them")
    if not 0.01 <= args.speed <= 1000:
        raise UsageError(f"--speed {args.speed:g}: must be between 0.01 and 1000")
    try:
        return Replayed(existing(args.replay), evidence.rule_set(None), args.speed)
    except StoreError as error:
        raise UsageError(f"{error}; {error.mend}" if error.mend else str(error), args.replay) from error


def options(args: argparse.Namespace) -> list[str]:
    """Of our own command line, what a private daemon must know."""
    found = ["--host-root", str(Path(args.host_root).absolute())] if args.host_root != "/" else []
    if args.allow_exec:
        found.append("--allow-exec")
    if args.config:
        found += ["--config", str(Path(args.config).absolute())]
    return found
