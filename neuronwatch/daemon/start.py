"""The daemon from its options to its end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.daemon import allocator, streams


class Start(NamedTuple):
    """What the command line says, checked; all of it text, so that it can be handed on to another process."""

    host_root: str
    state_dir: str | None = None
    socket: str | None = None
    config: str | None = None
    rules: Sequence[str] | None = None
    allow_exec: bool = False
    log_format: str = "text"


def fill_caches(rules: list[Path] | None) -> None:
    """Lets a child compile rules and patterns, where they are not in the cache: it takes 15 MB that the process that does it
    keeps for months. When the child fails we do it ourselves."""
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        from neuronwatch.source.rule_reload import fill_caches as fill

        fill(rules)
    finally:
        os._exit(0)


def run(start: Start) -> int:
    """Watches until it is told to end; returns the exit status."""
    # Until the loop takes it, a SIGHUP would end us (`cli.daemon` holds it back); what it asks for, reading the configuration, is
    # what we do now. No SIG_IGN: the tools that we start would inherit it.
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))
    streams.collect_rarely()
    allocator.thrifty()
    from neuronwatch.daemon import config_file, sources
    from neuronwatch.daemon.api import SocketInUse
    from neuronwatch.daemon.exporters.api import CannotExport
    from neuronwatch.daemon.log import Log
    from neuronwatch.daemon.rules import forget_making
    from neuronwatch.daemon.service import Options, Service
    from neuronwatch.data import tables
    from neuronwatch.store import state_dir
    from neuronwatch.store.errors import StoreError

    tables.share()
    try:
        own = Path(start.config) if start.config else None
        config = config_file.load(own or config_file.find(), sources.NAMES)
        rules = [Path(name) for name in start.rules] if start.rules else None
        fill_caches(rules)
        log = Log("json" if start.log_format == "json" else "text", journal="JOURNAL_STREAM" in os.environ)
        root = Path(start.host_root)
        state = Path(start.state_dir) if start.state_dir else state_dir.default(root)
        socket = state_dir.socket_path(state, Path(start.socket) if start.socket else None)
        service = Service(Options(root, state_dir.prepare(state), socket, own, rules, start.allow_exec), config, log)
    except (StoreError, SocketInUse, CannotExport, config_file.ConfigError) as error:
        mend = getattr(error, "mend", "")
        sys.stderr.write(f"neuronwatch: {streams.one_line(f'{error}; {mend}' if mend else str(error))}\n")
        return 1
    forget_making()
    service.run()
    return 1 if service.failed else 0
