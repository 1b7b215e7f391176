"""`neuronwatch config check|print|where`: the configuration, its mistakes, and where everything is."""

from __future__ import annotations

import argparse
import json
import sys

from neuronwatch.cli.main import UsageError, add_global_arguments

_ACTIONS = {
    "check": "say what is wrong in the configuration, with file, line and mend",
    "print": "print all settings with their values and meanings, as TOML",
    "where": "say which files and directories are used",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in _ACTIONS.items():
        sub = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_global_arguments(sub, formats=("text", "json"))
        if name == "check":
            sub.add_argument("file", nargs="?", metavar="FILE", help="the file to check (default: the one that is used)")


def run(args: argparse.Namespace) -> int:
    return {"check": _check, "print": _print, "where": _where}[args.action](args)


def _check(args: argparse.Namespace) -> int:
    from neuronwatch.cli import settings
    from neuronwatch.daemon import config_file

    name = args.file or args.config
    try:
        settings.load(name)
    except UsageError as error:
        if error.line is None and args.format != "json":
            raise
        problem = {"path": error.path, "line": error.line, "message": str(error)}
        print(json.dumps({"ok": False, "problems": [problem]}) if args.format == "json" else str(error))
        return 1
    used = name or config_file.find()
    if args.format == "json":
        print(json.dumps({"ok": True, "problems": []}))
    else:
        print(f"{used}: nothing is wrong" if used else "there is no configuration file: the defaults are used")
    return 0


def _print(args: argparse.Namespace) -> int:
    from neuronwatch.cli import settings
    from neuronwatch.daemon import config_print

    config = settings.load(args.config)
    if args.format == "json":
        from dataclasses import asdict

        document = asdict(config)
        for alert in document["alerts"]:
            alert["headers"] = dict.fromkeys(alert["headers"], config_print.SECRET)
        print(json.dumps(document))
    else:
        sys.stdout.write(config_print.toml(config, comments=True))
    return 0


def _where(args: argparse.Namespace) -> int:
    from neuronwatch.cli import places
    from neuronwatch.daemon import config_file
    from neuronwatch.source import rule_files

    used = args.config or config_file.find()
    state = places.state_directory(args)
    found = {
        "config": str(used or ""),
        "config_searched": [str(path) for path in config_file.default_paths()],
        "rules": [str(path) for path in rule_files.user_directories()],
        "state": str(state),
        "socket": str(places.socket_of(args)),
        "cache": str(rule_files.cache_directory()),
    }
    if args.format == "json":
        print(json.dumps(found))
        return 0
    for name, value in found.items():
        for text in value if isinstance(value, list) else [value or "(none: the defaults are used)"]:
            print(f"{name:<16} {text}")
    return 0
