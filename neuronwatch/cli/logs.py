"""`neuronwatch logs JOB [-f]`: what a job wrote, its standard output on ours and its standard error on ours."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from neuronwatch.cli import job_places

BLOCK = 64 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job_places.add_arguments(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    parser.add_argument("-n", "--lines", type=int, default=-1, metavar="N", help="only the last N lines of each (default: all)")
    parser.add_argument("--run", type=int, metavar="NUMBER", help="of this run (default: the newest)")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.cli.main import UsageError

    runs = job_places.named(args).runs()
    chosen = [item for item in runs if item.number == args.run] if args.run else runs[-1:]
    if not chosen:
        raise UsageError(f"job {args.job} has no run {args.run}" if args.run else f"job {args.job} was never started")
    one = chosen[0]
    sys.stdout.flush()
    places = [(one.stdout, 1), (one.stderr, 2)]
    ats = [_from(path, args.lines) for path, _ in places]
    while True:
        ended = not args.follow or not one.held()
        for number, (path, target) in enumerate(places):
            ats[number] = _copy(path, target, ats[number])
        if ended:
            return 0
        time.sleep(0.1)


def _from(path: Path, lines: int) -> int:
    """The offset of the last `lines` lines."""
    if lines < 0 or not path.exists():
        return 0
    with path.open("rb") as file:
        at = file.seek(0, os.SEEK_END)
        data = b""
        while at > 0 and data.count(b"\n") <= lines:
            step = min(BLOCK, at)
            at -= step
            file.seek(at)
            data = file.read(step) + data
    kept = data.splitlines(keepends=True)
    return at + sum(map(len, kept[: len(kept) - lines] if lines else kept))


def _copy(path: Path, target: int, at: int) -> int:
    if not path.exists():
        return at
    with path.open("rb") as file:
        file.seek(at)
        while part := file.read(BLOCK):
            at += len(part)
            view = memoryview(part)
            while view:
                view = view[os.write(target, view) :]
    return at
