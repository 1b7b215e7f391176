"""`neuronwatch daemon`: watches this host until it is told to end. It stays in the foreground; logging goes to stderr."""

from __future__ import annotations

import argparse
import signal

from neuronwatch.cli.main import add_global_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, formats=("text",))
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="how to log on stderr (default: text)")
    parser.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")


def run(args: argparse.Namespace) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))  # it would end us; `start.run` lets it in
    from neuronwatch.cli import evidence, places, settings
    from neuronwatch.daemon import lean, start

    settings.load(args.config)  # what is wrong with the command line is said here
    places.state_directory(args)
    rules = [str(path) for path in evidence.rule_directories(args.rules)] if args.rules else None
    options = start.Start(
        args.host_root, args.state_dir, args.socket, args.config, rules, bool(args.allow_exec), args.log_format,
    )  # fmt: skip
    if args.own_process:
        lean.again(options)
    return start.run(options)
