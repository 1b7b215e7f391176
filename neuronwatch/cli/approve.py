"""`neuronwatch approve ID`: a job's owner may do what it proposed. It is heard at once, or by the next owner."""

from __future__ import annotations

import argparse
import sys
import time

from neuronwatch.cli import job_places
from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="of the proposal (without: the proposals that wait are listed)")
    job_places.add_state_dir(parser)


def run(args: argparse.Namespace) -> int:
    return answered(args, "approve")


def answered(args: argparse.Namespace, what: str) -> int:
    """Writes the answer down, tells the owner, and says what will happen. 1 where the proposal does not wait any more."""
    from neuronwatch.remedy import story
    from neuronwatch.remedy.audit import Audit
    from neuronwatch.remedy.desk import Desk
    from neuronwatch.remedy.entries import diff
    from neuronwatch.supervise import directory

    now = time.time()
    waiting = []
    for job in directory.jobs(state_directory(args)):
        pending = Desk(job.path).look().pending
        if pending is not None:
            waiting.append((job, pending))
    if args.id is None:
        for job, pending in waiting:
            print(f"{pending.id}  {job.name}  {pending.action} for {pending.fault or 'the failure'}: {pending.proposal.words}")
            for change in diff(pending.proposal.changes):
                print(f"    {story.change_line(change)}")
            if not pending.proposal.changes:
                print(f"    undo: {pending.proposal.undo}")
        if not waiting:
            sys.stderr.write("neuronwatch: no proposal waits\n")
        return 0
    found = next(((job, pending) for job, pending in waiting if pending.id == args.id), None)
    if found is None:
        known = ", ".join(pending.id for _, pending in waiting)
        raise UsageError(f"no proposal {args.id!r} waits; " + (f"there are {known}" if known else "there is none"))
    job, pending = found
    if now >= pending.expires:
        sys.stderr.write(f"neuronwatch: proposal {args.id} of job {job.name} has expired\n")
        return 1
    Desk(job.path).answer(args.id, what, now)
    Audit(job.path).append("answer", now, {"id": args.id, "answer": what, "fault": pending.fault, "action": pending.action})
    heard = job_places.poke(job)
    print(f"{what}d: {pending.action} for job {job.name}: {pending.proposal.words}")
    if not heard:
        sys.stderr.write(f"neuronwatch: job {job.name} has no owner now; `neuronwatch run --name {job.name}` hears it\n")
    return 0
