"""`neuronwatch daemon`: watches this host until it is told to end. It stays in the foreground; logging goes to stderr."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from neuronwatch.cli.main import add_global_arguments, one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, formats=("text",))
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="how to log on stderr (default: text)")
    parser.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")


def _fill_caches(rules: list[Path] | None) -> None:
    """Lets a child compile rules and patterns, where they are not in the cache: it takes 15 MB that the process that does it
    keeps for months. When the child fails we do it ourselves."""
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        from neuronwatch.source.rule_reload import fill_caches

        fill_caches(rules)
    finally:
        os._exit(0)


def run(args: argparse.Namespace) -> int:
    # Until the loop takes it, a SIGHUP would end us; what it asks for, reading the configuration, is what we do now. No
    # SIG_IGN: the tools that we start would inherit it.
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    from neuronwatch.daemon import allocator

    allocator.thrifty()
    from neuronwatch.cli import evidence, settings
    from neuronwatch.cli.places import prepared
    from neuronwatch.daemon.api import SocketInUse
    from neuronwatch.daemon.exporters.api import CannotExport
    from neuronwatch.daemon.log import Log
    from neuronwatch.daemon.rules import forget_making
    from neuronwatch.daemon.service import Options, Service
    from neuronwatch.store.errors import StoreError

    config = settings.load(args.config)
    rules = evidence.rule_directories(args.rules) if args.rules else None
    _fill_caches(rules)
    log = Log(args.log_format, journal="JOURNAL_STREAM" in os.environ)
    try:
        state, socket = prepared(args)
        options = Options(Path(args.host_root), state, socket, Path(args.config) if args.config else None, rules, args.allow_exec)
        service = Service(options, config, log)
    except (StoreError, SocketInUse, CannotExport) as error:
        mend = getattr(error, "mend", "")
        sys.stderr.write(f"neuronwatch: {one_line(f'{error}; {mend}' if mend else str(error))}\n")
        return 1
    forget_making()
    service.run()
    return 1 if service.failed else 0
