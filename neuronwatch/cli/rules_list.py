"""`neuronwatch rules list`: one line for each rule."""

from __future__ import annotations

import argparse
import json
import sys

from neuronwatch.cli import evidence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stage", help="only this stage")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result")


def run(args: argparse.Namespace) -> int:
    rules = [r for r in evidence.rule_set(args.rules).rules.values() if args.stage in (None, r.stage)]
    if args.format == "json":
        rows = [{"id": r.id, "fault": r.fault, "role": r.role, "severity": r.severity, "maturity": r.maturity,
                 "title": r.title, "path": r.path} for r in rules]  # fmt: skip
        sys.stdout.write(json.dumps({"rules": rows}) + "\n")
        return 0
    for rule in rules:
        print(f"{rule.id:<44} {rule.role:<8} {rule.severity:<9} {rule.title}")
    return 0
