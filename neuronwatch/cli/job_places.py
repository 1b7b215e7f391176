"""The job that a verb names: `ps`, `logs`, `stop` and `restart` find it in the same way."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING

from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory

if TYPE_CHECKING:
    from neuronwatch.supervise.directory import JobDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="its name (see `neuronwatch ps`)")
    add_state_dir(parser)


def add_state_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state-dir", metavar="DIR", help="where neuronwatch keeps its state")
    parser.add_argument("--host-root", default="/", help=argparse.SUPPRESS)


def named(args: argparse.Namespace) -> JobDirectory:
    """Raises UsageError where there is no such job, with the nearest name."""
    from neuronwatch.supervise import directory
    from neuronwatch.supervise.errors import JobError

    known = [item.name for item in directory.jobs(state_directory(args))]
    if args.job not in known:
        near = difflib.get_close_matches(args.job, known, 1)
        hint = f"did you mean {near[0]}?" if near else "see `neuronwatch ps`" if known else "there are no jobs here"
        raise UsageError(f"no job {args.job!r}; {hint}")
    try:
        return directory.JobDirectory(state_directory(args), args.job)
    except JobError as error:
        raise UsageError(str(error)) from error
