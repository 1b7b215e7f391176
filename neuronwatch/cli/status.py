"""`neuronwatch status`: how the host is, as the daemon sees it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from neuronwatch.cli.main import add_global_arguments
from neuronwatch.cli.report.visible import visible

EXIT = {"healthy": 0, "warning": 1, "fault": 2, "unknown": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from neuronwatch.daemon import places
    from neuronwatch.daemon.client import Client, NoDaemon

    state = places.state_directory(args.state_dir, args.host_root)
    try:
        with Client(places.socket_path(args.socket, state)) as client:
            document = client.call("status")
    except NoDaemon as error:
        sys.stderr.write(f"neuronwatch: {visible(str(error))}\n")
        document = {"schema": "neuronwatch.status/1", "verdict": "unknown", "daemon": None, "unknown": [str(error)]}
    sys.stdout.write(_render(document, args.format))
    return EXIT.get(document["verdict"], 3)


def _render(document: dict[str, Any], form: str) -> str:
    if form == "json":
        return json.dumps(document) + "\n"
    lines = [document["verdict"]]
    lines += [f"  {visible(item)}" for item in document.get("findings", [])]
    lines += [f"  {item['name']}  {item['state']}  {visible(item['reason'])}" for item in document.get("sources", [])]
    return "\n".join(lines) + "\n"
