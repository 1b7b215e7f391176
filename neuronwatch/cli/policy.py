"""`neuronwatch policy check FILE ...`, `policy show`: whether a policy says what it should; what is in force here."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from neuronwatch.cli.main import UsageError, existing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="check|show", required=True)
    check = verbs.add_parser("check", help="the first mistake of each file, with its line and the nearest name")
    check.add_argument("files", metavar="FILE", nargs="+", help="policy files (TOML)")
    show = verbs.add_parser("show", help="each action with its mode, budget and cool-down")
    show.add_argument("--policy", choices=("observe", "ask", "act"), default="observe", help="the mode that files lie over")


def run(args: argparse.Namespace) -> int:
    """`check`: 0 right, 1 not."""
    from neuronwatch.remedy import actions, policy_file
    from neuronwatch.store.settings_file import SettingsError, read

    if args.what == "check":
        wrong = 0
        for name in args.files:
            try:
                policy_file.parse(read(Path(existing(name))), name)
                print(f"{name}: fine")
            except SettingsError as error:
                sys.stderr.write(f"neuronwatch: {error}\n")
                wrong = 1
        return wrong
    try:
        policy, notes = policy_file.load(args.policy)
    except SettingsError as error:
        raise UsageError(str(error), error.path, error.line) from error
    for note in notes:
        sys.stderr.write(f"neuronwatch: {note}\n")
    print(f"{'action':26} {'kind':8} {'mode':8} {'a day':>5} {'cool-down':>9}  what it does")
    for action in actions.ACTIONS:
        budget, pause = policy.budget_of(action), policy.cool_down_of(action)
        print(f"{action.name:26} {action.kind:8} {policy.mode_of(action, ''):8} {budget:5} {pause:7.0f} s  {action.title}")
    for fault, mode in sorted(policy.faults.items()):
        print(f"fault {fault}: at most {mode}")
    return 0
