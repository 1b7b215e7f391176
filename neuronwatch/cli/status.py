"""`neuronwatch status`: how the host is, as the daemon sees it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from neuronwatch.cli.diagnose import EXIT
from neuronwatch.cli.main import add_global_arguments, one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json", "markdown", "npd"))


def run(args: argparse.Namespace) -> int:
    document = ask(args)
    verdict = document["verdict"]
    if args.format == "npd":
        from neuronwatch.daemon.exporters import npd

        line, status = npd.plugin_answer(document)
        print(line)
        return status
    if args.format == "json":
        print(json.dumps(document))
    else:
        from neuronwatch.cli.report import status_text

        sys.stdout.write(status_text.render(document, args.format))
    return EXIT.get(verdict, 3)


def ask(args: argparse.Namespace) -> dict[str, Any]:
    """The daemon's answer, or what stands for it where there is none; then the reason goes to stderr."""
    from neuronwatch.cli.places import socket_of
    from neuronwatch.daemon.client import Client, NoDaemon
    from neuronwatch.daemon.protocol import ApiError

    try:
        with Client(socket_of(args)) as client:
            document: dict[str, Any] = client.call("status")
            return document
    except (NoDaemon, ApiError) as error:
        from neuronwatch.daemon.status import no_daemon

        sys.stderr.write(f"neuronwatch: {one_line(str(error))}\n")
        return no_daemon(str(error), time.time())
