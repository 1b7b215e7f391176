"""`neuronwatch breaker list [JOB]`, `breaker close JOB [ACTION]`: remedies that did not help are not tried again before a person
says so."""

from __future__ import annotations

import argparse
import sys
import time

from neuronwatch.cli import job_places
from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="list|close", required=True)
    listing = verbs.add_parser("list", help="the breakers that are open, with the reason")
    listing.add_argument("job", metavar="JOB", nargs="?", help="of this job alone")
    job_places.add_state_dir(listing)
    closing = verbs.add_parser("close", help="let an action be tried again")
    job_places.add_arguments(closing)
    closing.add_argument("action", metavar="ACTION", nargs="?", help="the action (without: all of this job)")


def run(args: argparse.Namespace) -> int:
    return _list(args) if args.what == "list" else _close(args)


def _list(args: argparse.Namespace) -> int:
    from neuronwatch.remedy.desk import Desk
    from neuronwatch.supervise import directory

    jobs = [job_places.named(args)] if args.job else list(directory.jobs(state_directory(args)))
    for job in jobs:
        for action, opened in sorted(Desk(job.path).look().breaker.items()):
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(opened.since))
            print(f"{job.name}  {'all actions' if action == '*' else action}  since {since}: {opened.why}")
    return 0


def _close(args: argparse.Namespace) -> int:
    """An owner that lives closes it itself; without one the state is changed here, under the owner's lock."""
    import difflib

    from neuronwatch.remedy import desk
    from neuronwatch.remedy.audit import Audit
    from neuronwatch.remedy.state import ALL
    from neuronwatch.supervise import proposals

    job, now = job_places.named(args), time.time()
    place = desk.Desk(job.path)
    opened = place.look().breaker
    action = args.action or ALL
    if action != ALL and action not in opened:
        near = difflib.get_close_matches(action, opened, 1)
        raise UsageError(
            f"the breaker of {action!r} of job {job.name} is not open" + (f"; did you mean {near[0]}?" if near else "")
        )
    if not opened:
        sys.stderr.write(f"neuronwatch: no breaker of job {job.name} is open\n")
        return 0
    place.close(action, now)
    Audit(job.path).append("breaker", now, {"closed": action})
    if not proposals.poke(job) and job.take():
        try:
            place.save(place.heard(place.load(now))[0])
        finally:
            job.release()
    print(f"closed: {', '.join(sorted(opened)) if action == ALL else action} of job {job.name}")
    return 0
