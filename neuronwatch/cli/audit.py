"""`neuronwatch audit show [JOB]`, `audit verify [JOB]`: what was decided about jobs, and whether the log is whole."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from neuronwatch.cli import job_places
from neuronwatch.cli.places import state_directory

if TYPE_CHECKING:
    from neuronwatch.remedy.audit import Entry
    from neuronwatch.supervise.directory import JobDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="show|verify", required=True)
    texts = {"show": "the story of a job: faults, decisions, diffs, effects", "verify": "prove that no line is missing or changed"}
    for name, text in texts.items():
        sub = verbs.add_parser(name, help=text)
        sub.add_argument("job", metavar="JOB", nargs="?", help="of this job alone")
        job_places.add_state_dir(sub)
        sub.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result (default: text)")
        if name == "show":
            sub.add_argument("--summary", action="store_true", help="times to recovery, and the scorecard of shadow decisions")


def run(args: argparse.Namespace) -> int:
    """`show`: 0. `verify`: 0 whole, 1 not, or it cannot be read."""
    from neuronwatch.supervise import directory

    jobs = [job_places.named(args)] if args.job else list(directory.jobs(state_directory(args)))
    if args.what == "verify":
        return _verify(args, jobs)
    from neuronwatch.remedy.audit import Audit

    entries = {job.name: list(Audit(job.path).entries()) for job in jobs}
    if args.format == "json":
        _print_json(
            {"schema": "neuronwatch.audit/1", "jobs": {name: _plain(found, args.summary) for name, found in entries.items()}}
        )
    elif args.summary:
        for name, found in entries.items():
            _summary(name, found)
    else:
        for name, found in entries.items():
            _story(name, found)
    return 0


def _story(name: str, entries: list[Entry]) -> None:
    from neuronwatch.daemon.streams import one_line
    from neuronwatch.remedy import story

    for entry in entries:
        print(f"{_time(entry.time)}  {name}  {one_line(story.line(entry))}")
        for line in story.details(entry):
            print(f"    {one_line(line)[:300]}")


def _summary(name: str, entries: list[Entry]) -> None:
    from neuronwatch.daemon.streams import one_line
    from neuronwatch.remedy import story

    for row in story.recoveries(entries):
        times = f"mean {row.mean:.1f} s, worst {row.worst:.1f} s" if row.mean is not None and row.worst is not None else "never"
        print(f"{name}  {one_line(row.fault)}: recovered {row.recovered} times, {times}; {row.failed} times no remedy helped")
    shadows = story.scorecard(entries)
    for shadow in shadows:
        wanted = f"would have done {one_line(shadow.action)} for {one_line(shadow.fault)}"
        print(f"{name}  {_time(shadow.time)} {wanted}; people then: {shadow.then}")
    if shadows:
        same = sum(shadow.then == "same" for shadow in shadows)
        print(f"{name}  {same} of {len(shadows)} shadow decisions are what people then did")


def _plain(entries: list[Entry], summary: bool) -> Any:
    from neuronwatch.remedy import story

    if not summary:
        return [{"n": entry.n, "t": entry.time, "kind": entry.kind, **entry.told} for entry in entries]
    recovered = [row._asdict() for row in story.recoveries(entries)]
    return {"recoveries": recovered, "shadow": [row._asdict() for row in story.scorecard(entries)]}


def _verify(args: argparse.Namespace, jobs: list[JobDirectory]) -> int:
    from neuronwatch.remedy.audit import Audit, Problem

    status, document = 0, {}
    for job in jobs:
        audit = Audit(job.path)
        try:
            count, problems = audit.verify()
        except OSError as error:
            count, problems = 0, [Problem(0, f"cannot be read: {error.strerror}")]
        document[job.name] = {"lines": count, "problems": [problem._asdict() for problem in problems]}
        status = 1 if problems else status
        if args.format == "text":
            for problem in problems:
                sys.stdout.write(f"{audit.path}{f':{problem.line}' if problem.line else ''}: {problem.what}\n")
            if not problems:
                sys.stdout.write(f"{job.name}: whole, {count} lines\n")
    if args.format == "json":
        _print_json({"schema": "neuronwatch.audit/1", "jobs": document})
    return status


def _print_json(document: Any) -> None:
    import json

    print(json.dumps(document, indent=1))


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
