"""`neuronwatch rules why-not RULE PATH ...`: per condition: seen, not seen, or source blind."""

from __future__ import annotations

import argparse
import json
import sys

from neuronwatch.cli import evidence
from neuronwatch.cli.main import existing
from neuronwatch.cli.rules_show import find_rule
from neuronwatch.collect.redact import Redactor
from neuronwatch.judge import engine
from neuronwatch.judge.state import State

_WORDS = {"true": "seen", "false": "not seen", "unknown": "source blind"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RULE", help="rule id")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="the evidence; none: this host")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result")
    parser.add_argument("--host-root", metavar="DIR", default="/", help="read the host below DIR instead of /")
    parser.set_defaults(jobs=1, python=None, lock=None, allow_exec=False)


def run(args: argparse.Namespace) -> int:
    for path in args.paths:
        existing(path)
    rules = evidence.rule_set(args.rules)
    find_rule(rules, args.id)
    state = State()
    engine.observe(state, evidence.items(args, rules), rules)
    with evidence.watched_judging():
        out = engine.case_of(state, rules, explain=True).outcome(args.id)
    text = Redactor(secrets_only=True).text
    checks = [(_WORDS[item.state], item.what, text(item.detail)) for item in out.checks]
    if args.format == "json":
        rows = [{"state": state, "condition": what, "detail": detail} for state, what, detail in checks]
        sys.stdout.write(json.dumps({"rule": args.id, "fired": out.fired, "confidence": out.confidence,
                                     "conditions": rows}) + "\n")  # fmt: skip
        return 0
    print(f"{args.id}: " + (f"fires, confidence {out.confidence:.2f}" if out.fired else "does not fire"))
    for state_word, what, detail in checks:
        print(f"  {state_word:<12} {what}" + (f"  ({detail})" if detail else ""))
    for why in out.why:
        print(f"  {'':<12} {text(why)}")
    return 0
