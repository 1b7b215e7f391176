"""`neuronwatch status`: how the host is, with the words and figures of the dashboard."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from neuronwatch.cli.diagnose import EXIT
from neuronwatch.cli.main import add_global_arguments, one_line

if TYPE_CHECKING:
    from neuronwatch.tui.view.picture import Picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json", "markdown", "npd"))


def run(args: argparse.Namespace) -> int:
    picture = ask(args, figures=args.format != "npd")
    if args.format == "npd":
        from neuronwatch.daemon.exporters import npd

        line, status = npd.plugin_answer(shown(picture))
        print(line)
        return status
    if args.format == "json":
        print(json.dumps(shown(picture)))
    else:
        from neuronwatch.cli.report import status_text

        sys.stdout.write(status_text.render(picture, shown(picture), args.format))
    return EXIT[picture.verdict]


def shown(picture: Picture) -> dict[str, Any]:
    """The status as JSON has it; where no daemon answers, nothing is known."""
    from neuronwatch.daemon.status import no_daemon
    from neuronwatch.tui.view import summary

    if picture.link.what == "lost" or not picture.status:
        return no_daemon("; ".join(picture.reasons()), time.time())
    return summary.document(picture)


def ask(args: argparse.Namespace, figures: bool = True) -> Picture:
    """What the daemon tells, `figures` more than its status; where there is none the reason goes to stderr too."""
    from neuronwatch.cli.places import socket_of
    from neuronwatch.daemon.client import Client, NoDaemon
    from neuronwatch.daemon.protocol import ApiError
    from neuronwatch.tui.feed.live import glance
    from neuronwatch.tui.view.picture import Link, Picture
    from neuronwatch.tui.view.values import ODD

    picture = Picture()
    try:
        with Client(socket_of(args)) as client:
            for name, data in glance(client, figures):
                picture.apply(name, data)
        picture.apply("link", Link("live", picture.now))
        return picture
    except (NoDaemon, ApiError) as error:
        why = str(error)
    except ODD as error:
        why = f"the daemon's answer cannot be understood ({type(error).__name__}: {str(error)[:80]})"
    sys.stderr.write(f"neuronwatch: {one_line(why)}\n")
    picture.apply("link", Link("lost", 0.0, why))
    return picture
