"""`neuronwatch ps`: the jobs that were started with `neuronwatch run`, and how they are."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from neuronwatch.cli import job_places
from neuronwatch.cli.places import state_directory
from neuronwatch.cli.report.visible import visible

if TYPE_CHECKING:
    from neuronwatch.supervise.look import Job

SCHEMA = "neuronwatch.jobs/1"
WIDTH = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job_places.add_state_dir(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result (default: text)")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.supervise.look import all_jobs

    found = all_jobs(state_directory(args))
    if args.format == "json":
        print(json.dumps({"schema": SCHEMA, "jobs": [document(job) for job in found]}))
    else:
        sys.stdout.write(_text(found, time.time()))
    return 0


def document(job: Job) -> dict[str, Any]:
    started = job.started
    return {
        "name": job.name, "state": job.state, "command": list(job.command), "runs": job.runs, "owner": job.owner,
        "pid": started.command.pid if started else None, "started": started.time if started else None,
        "exit": None if job.exit is None else {"status": job.exit.status, "signal": job.exit.signal, "time": job.exit.time},
        "directory": str(job.run.path) if job.run else None,
    }  # fmt: skip


def _text(jobs: list[Job], now: float) -> str:
    if not jobs:
        return "no jobs; `neuronwatch run -- CMD ...` starts one\n"
    rows = [("NAME", "STATE", "RUNS", "PID", "FOR", "COMMAND"), *(_row(job, now) for job in jobs)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ([*(row[column].ljust(widths[column]) for column in range(5)), row[5]] for row in rows)
    return "".join("  ".join(cells).rstrip() + "\n" for cells in lines)


def _row(job: Job, now: float) -> tuple[str, ...]:
    began, end = job.started.time if job.started else None, job.exit.time if job.exit else now
    pid = str(job.started.command.pid) if job.started and job.state in ("running", "unowned") else "-"
    length = "-" if began is None else _length(end - began)
    return job.name, _state(job), str(job.runs), pid, length, visible(" ".join(job.command))[:WIDTH]


def _state(job: Job) -> str:
    if job.exit is None:
        return "no owner" if job.state == "unowned" else job.state
    if not job.exit.known:
        return "status unknown"
    return "done" if job.exit.ok else f"signal {job.exit.signal}" if job.exit.signal else f"status {job.exit.status}"


def _length(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
