"""`neuronwatch stop JOB`: ends a job and all of its processes; it is not started again."""

from __future__ import annotations

import argparse
import sys
import time

from neuronwatch.cli import job_places

LONGER = 15.0
"""Seconds beyond the grace in which the end of a job must be seen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job_places.add_arguments(parser)
    parser.add_argument("--grace", type=float, default=8.0, metavar="SECONDS",
                        help="from SIGTERM to SIGKILL, of a job without an owner (default: 8; an owner knows its own)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    return tell(args, "stop")


def tell(args: argparse.Namespace, what: str) -> int:
    """Asks the owner for it and waits until it is so; 1 with a line on stderr where it cannot be."""
    from neuronwatch.supervise import control, look
    from neuronwatch.supervise.errors import JobError

    directory = job_places.named(args)
    try:
        before = look.look(directory)
        if before.state not in ("running", "unowned"):
            return _say(f"job {args.job} is not running", 0 if what == "stop" else 1)
        answer = control.ask(directory, what)
        if answer is None:
            if what == "restart":
                return _say(f"job {args.job} has no owner; `neuronwatch run --name {args.job}` takes it over", 1)
            return 0 if look.end_unowned(directory, args.grace) else _say(f"job {args.job} has an owner again; try once more", 1)
        if not answer.get("ok"):
            return _say(str(answer.get("error", "it said no")), 1)
        spec = directory.current()
        end = time.monotonic() + LONGER + (spec.grace if spec else args.grace)
        while time.monotonic() < end:
            now = look.look(directory)
            if now.state not in ("running", "unowned") if what == "stop" else now.runs > before.runs:
                return 0
            time.sleep(0.05)
        return _say(f"job {args.job} did not {what} in time; see `neuronwatch ps`", 1)
    except JobError as error:
        return _say(f"{error}; {error.mend}" if error.mend else str(error), 1)


def _say(line: str, status: int) -> int:
    sys.stderr.write(f"neuronwatch: {line}\n")
    return status
