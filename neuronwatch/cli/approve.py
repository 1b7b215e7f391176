"""`neuronwatch approve ID`: a job's owner may do what it proposed. It is heard at once, or by the next owner."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from neuronwatch.cli import job_places
from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory

if TYPE_CHECKING:
    from neuronwatch.supervise.proposals import Answer, Waiting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="of the proposal (without: the proposals that wait are listed)")
    job_places.add_state_dir(parser)


def run(args: argparse.Namespace) -> int:
    return answered(args, "approve")


def answered(args: argparse.Namespace, what: Answer) -> int:
    """Writes the answer down, tells the owner, and says what will happen. 1 where the proposal does not wait any more."""
    from neuronwatch.supervise import proposals

    found = list(proposals.waiting(state_directory(args)))
    if args.id is None:
        return _listed(found)
    item = next((item for item in found if item.pending.id == args.id), None)
    if item is None:
        known = ", ".join(item.pending.id for item in found)
        raise UsageError(f"no proposal {args.id!r} waits; " + (f"there are {known}" if known else "there is none"))
    heard = proposals.answer(item, what, time.time())
    if heard is None:
        sys.stderr.write(f"neuronwatch: proposal {args.id} of job {item.job.name} has expired\n")
        return 1
    print(f"{what}d: {item.pending.action} for job {item.job.name}: {item.pending.proposal.words}")
    if not heard:
        sys.stderr.write(f"neuronwatch: job {item.job.name} has no owner now; `neuronwatch run --name {item.job.name}` hears it\n")
    return 0


def _listed(found: list[Waiting]) -> int:
    for item in found:
        pending = item.pending
        print(f"{pending.id}  {item.job.name}  {pending.action} for {pending.fault or 'the failure'}: {pending.proposal.words}")
        for line in item.preview:
            print(f"    {line}")
    if not found:
        sys.stderr.write("neuronwatch: no proposal waits\n")
    return 0
