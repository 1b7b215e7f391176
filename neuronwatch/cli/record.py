"""`neuronwatch record [--out DIR] [--seconds N]`: what the daemon reads, as a capture that `diagnose` and `replay` take."""

from __future__ import annotations

import argparse
import json
import os
import time

from neuronwatch.cli.incidents import call
from neuronwatch.cli.main import add_global_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("--out", metavar="DIR", help="a new or empty directory (default: neuronwatch-TIME here)")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long (default: until Ctrl-C)")


def run(args: argparse.Namespace) -> int:
    directory = os.path.abspath(args.out or time.strftime("neuronwatch-%Y%m%d-%H%M%S", time.gmtime()))
    if call(args, "record", do="start", directory=directory) is None:
        return 1
    end = None if args.seconds is None else time.monotonic() + max(0.0, args.seconds)
    try:
        while end is None or time.monotonic() < end:
            time.sleep(0.5 if end is None else min(0.5, max(0.0, end - time.monotonic())))
    except KeyboardInterrupt:
        pass
    done = call(args, "record", do="stop")
    if done is None:
        return 1
    print(json.dumps(done) if args.format == "json" else f"{done['directory']}: {done['bytes']:,} bytes of time line")
    return 0
