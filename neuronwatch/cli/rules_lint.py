"""`neuronwatch rules lint [FILE|DIR ...]`: loads rule files and prints every problem as file:line: message."""

from __future__ import annotations

import argparse
from pathlib import Path

from neuronwatch.cli.main import existing, one_line
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.load import load_rule
from neuronwatch.judge.rules.model import Rule, RuleError
from neuronwatch.source import rule_files
from neuronwatch.source.bundled import bundled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", help="rule files or directories (default: the shipped rules)")


def run(args: argparse.Namespace) -> int:
    roots = [Path(item) for item in (args.paths or args.rules or [str(bundled("rules"))])]
    rules: list[Rule] = []
    failed = False
    for root in roots:
        existing(str(root))
        for path in sorted(root.rglob("*.toml")) if root.is_dir() else [root]:
            reason, text = rule_files.read_rule(path)
            if reason:
                failed = True
                print(one_line(f"{path}: not read: {reason}"))
                continue
            try:
                rules.append(load_rule(str(path), text))
            except RuleError as error:
                failed = True
                for problem in error.problems:
                    print(one_line(str(problem)))
    try:
        RuleSet(rules)
    except ValueError as error:
        failed = True
        print(error)
    print(f"{len(rules)} rules are fine" + (", some are not" if failed else ""))
    return 1 if failed else 0
