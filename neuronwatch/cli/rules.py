"""`neuronwatch rules list|show|test|lint|why-not|docs`: the rule table, its proofs and its explanations."""

from __future__ import annotations

import argparse
import importlib

_ACTIONS = {
    "list": "one line for each rule",
    "show": "everything about one rule",
    "test": "run the samples that rules carry",
    "lint": "check rule files, with file, line and mend",
    "why-not": "per condition: seen, not seen, or source blind",
    "docs": "write the rule reference as Markdown",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in _ACTIONS.items():
        module = importlib.import_module(f"neuronwatch.cli.rules_{name.replace('-', '_')}")
        sub = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")
        module.add_arguments(sub)


def run(args: argparse.Namespace) -> int:
    module = importlib.import_module(f"neuronwatch.cli.rules_{args.action.replace('-', '_')}")
    return int(module.run(args))
