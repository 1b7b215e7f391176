"""`neuronwatch diagnose [PATH ...]`: reads the evidence once, judges it, prints the diagnosis."""

from __future__ import annotations

import argparse
import sys

from neuronwatch.cli.main import add_global_arguments, existing
from neuronwatch.model.diagnosis import Diagnosis, Verdict

EXIT: dict[Verdict, int] = {"healthy": 0, "warning": 1, "fault": 2, "unknown": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*",
                        help="files, directories or archives of a failed run, - for standard input; none: this host")  # fmt: skip
    add_global_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="show all findings, facts and sources")
    parser.add_argument("--python", metavar="INTERPRETER", help="also read the packages of this venv or interpreter")
    parser.add_argument("--lock", metavar="FILE", help="report drift from this lock file")
    parser.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="worker processes for big files (default: 1)")


def run(args: argparse.Namespace) -> int:
    diagnosis = diagnose(args)
    sys.stdout.write(_render(diagnosis, args))
    return EXIT[diagnosis.verdict]


def _render(diagnosis: Diagnosis, args: argparse.Namespace) -> str:
    if args.format == "json":
        from neuronwatch.cli.report import as_json

        return as_json.render(diagnosis)
    if args.format == "markdown":
        from neuronwatch.cli.report import as_markdown

        return as_markdown.render(diagnosis, verbose=args.verbose)
    from neuronwatch.cli.report import as_text

    return as_text.render(diagnosis, verbose=args.verbose)


def diagnose(args: argparse.Namespace) -> Diagnosis:
    """The diagnosis of the evidence or host that the arguments name. Raises UsageError for a PATH that is missing."""
    from neuronwatch.cli import evidence
    from neuronwatch.cli.report.hidden import without_secrets
    from neuronwatch.judge import engine
    from neuronwatch.judge.state import State
    from neuronwatch.source.numbering import NUMBERING

    for path in args.paths:
        if path != "-":
            existing(path)
    rules = evidence.rule_set(args.rules)
    state = State()
    engine.observe(state, evidence.items(args, rules), rules)
    with evidence.watched_judging():
        diagnosis = engine.conclude(state, rules)
    return without_secrets(NUMBERING.numbered(diagnosis))
