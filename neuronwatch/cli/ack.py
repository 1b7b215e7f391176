"""`neuronwatch ack ID`: says that a person has seen an incident; conditions that end by hand end."""

from __future__ import annotations

import argparse
import json

from neuronwatch.cli.incidents import call
from neuronwatch.cli.main import add_global_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("id", metavar="ID", help="the incident (see `neuronwatch incidents`)")


def run(args: argparse.Namespace) -> int:
    document = call(args, "ack", id=args.id)
    if document is None:
        return 1
    item = document["incidents"][0]
    print(json.dumps(document) if args.format == "json" else f"{item['id']}: {item['state']}")
    return 0
