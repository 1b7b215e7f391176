"""The process that monitors one run: `python -m neuronwatch.supervise.monitor_main`, started by `monitoring.py`.

A process of its own, so that neither a judgement that takes a while nor a log that breaks a parser holds up the owner of the job.
It reads one line of JSON from standard input (run, spec, tree), and ends when that closes. What it observes goes to standard output
as lines of JSON, whenever it changed, at most some times a second.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from neuronwatch.model.job import JobSpec
from neuronwatch.model.live import Now
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.monitor import Monitor
from neuronwatch.supervise.observed import document
from neuronwatch.supervise.tree import Tree

NICE = 10
"""The job comes first where it needs all cores."""
APART = 0.2
"""Seconds between two answers."""
LONGEST = 5.0


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the owner's pipe says when it is over
    with contextlib.suppress(OSError):
        os.nice(NICE)
    asked = json.loads(sys.stdin.buffer.readline() or b"null")
    if asked is None:
        return 0
    spec = JobSpec(**{**asked["spec"], "argv": tuple(asked["spec"]["argv"])})
    tree = Tree([(int(pid), int(start)) for pid, start in asked["roots"]], asked["mark"])
    monitor = Monitor(Run(Path(asked["run"])), spec, tree, _now())
    told: dict[str, Any] | None = None
    at = 0.0
    while True:
        observed = document(monitor.turn(_now()))
        if observed != told and time.monotonic() - at >= APART:
            told, at = observed, time.monotonic()
            try:
                os.write(1, json.dumps(observed).encode() + b"\n")
            except OSError:
                return 0
        wait = min(LONGEST, monitor.due(_now()), APART if observed != told else LONGEST)
        files = [0] if monitor.descriptor is None else [0, monitor.descriptor]
        if 0 in select.select(files, [], [], max(0.01, wait))[0]:
            return 0


def _now() -> Now:
    return Now(time.time(), time.monotonic())


if __name__ == "__main__":
    sys.exit(main())
