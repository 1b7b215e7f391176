"""`neuronwatch rules show ID`: everything about one rule."""

from __future__ import annotations

import argparse
import difflib

from neuronwatch.cli import evidence
from neuronwatch.cli.main import UsageError
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.model import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="rule id")


def find_rule(rules: RuleSet, rule_id: str) -> Rule:
    """The rule of that id. Raises UsageError with the nearest id."""
    rule = rules.rules.get(rule_id)
    if rule is None:
        near = difflib.get_close_matches(rule_id, rules.rules, 1)
        raise UsageError(f"no rule {rule_id}" + (f", did you mean {near[0]}?" if near else ""))
    return rule


def run(args: argparse.Namespace) -> int:
    from neuronwatch.cli.report.rule_page import page

    print(page(find_rule(evidence.rule_set(args.rules), args.id)), end="")
    return 0
