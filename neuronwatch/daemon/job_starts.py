"""Starts the jobs that are written down with `start = true`, each with an owner of its own, which outlives the daemon."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.daemon.log import Log

if TYPE_CHECKING:
    from neuronwatch.supervise.directory import JobDirectory
    from neuronwatch.supervise.jobs_d import Job

FIRST_WAIT, LONGEST_WAIT = 15.0, 900.0
"""Seconds until an owner that ended without bringing its job to an end is started again, doubled each time."""
OWNER_LOG = "owner.log"


def directories() -> list[Path]:
    """Where jobs are written down, in the order in which they are read."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.path.expanduser("~")) / ".config")  # noqa: PTH111 (without a home)
    return [Path("/etc/neuronwatch/jobs.d"), home / "neuronwatch" / "jobs.d"]


class JobStarts:
    """Call `look` now and then. `state`: the state directory; `places`: where jobs are written down."""

    def __init__(
        self, state: Path, log: Log, places: Sequence[Path] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._state, self._log, self._clock = state, log, clock
        self._places = list(directories() if places is None else places)
        self._children: list[subprocess.Popen[bytes]] = []
        self._next: dict[str, tuple[float, float]] = {}
        """Job to the time of the next try and the wait after it."""
        self._said: set[str] = set()

    def look(self) -> None:
        """Starts what should run and does not."""
        self._children = [child for child in self._children if child.poll() is None]
        if not any(place.is_dir() and any(place.glob("*.toml")) for place in self._places):
            return  # a host without such jobs does not pay for what is needed to read them
        from neuronwatch.supervise import jobs_d
        from neuronwatch.supervise.directory import JobDirectory
        from neuronwatch.supervise.errors import JobError

        found, complaints = jobs_d.to_start(self._places)
        for text in complaints:
            self._say(text)
        if found and sandboxed():
            self._say("jobs.d: jobs are not started from inside the service's sandbox; run the daemon as the user of the jobs")
            return
        for path, job in found:
            with contextlib.suppress(OSError, JobError):
                if wanted(JobDirectory(self._state, job.spec.name), job):
                    self._start(path, JobDirectory(self._state, job.spec.name))

    def _start(self, path: Path, directory: JobDirectory) -> None:
        name, now = directory.name, self._clock()
        at, wait = self._next.get(name, (0.0, FIRST_WAIT))
        if now < at:
            return
        self._next[name] = (now + wait, min(LONGEST_WAIT, 2 * wait))
        directory.make()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(directory.path / OWNER_LOG, flags, 0o600), "ab") as log:
            self._children.append(subprocess.Popen(
                [sys.executable, "-m", "neuronwatch", "run", "--spec", str(path), "--state-dir", str(self._state)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True, cwd="/",
            ))  # fmt: skip
        self._log.info("job started", job=name, file=str(path), log=str(directory.path / OWNER_LOG))

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._log.warning(text)


def wanted(directory: JobDirectory, job: Job) -> bool:
    """Whether a job should have an owner and has none: it was never started, its owner died, or it was brought to its end and is
    written down anew. Raises JobError, OSError."""
    from neuronwatch.supervise.errors import JobError

    if not directory.path.is_dir():
        return True
    if directory.owner() is not None:
        return False
    with contextlib.suppress(JobError):
        if directory.spec() != job.spec:
            return True
    return not directory.is_over()


def sandboxed() -> bool:
    """Whether system calls are filtered, as in the unit that `service install` makes: a job would not get far."""
    with contextlib.suppress(OSError):
        return "\nSeccomp:\t2" in Path("/proc/self/status").read_text("ascii", "replace") and "INVOCATION_ID" in os.environ
    return False
