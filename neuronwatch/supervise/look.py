"""What is known of the jobs of a state directory, read from their files: for `ps`, and to end one that has no owner."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from neuronwatch.model.job import Exit
from neuronwatch.supervise.directory import JobDirectory, Run, Started, jobs
from neuronwatch.supervise.errors import JobError
from neuronwatch.supervise.tree import Tree

JobState = Literal["running", "unowned", "ended", "lost", "never"]


class Job(NamedTuple):
    """A job now. `running`: it lives and has an owner; `unowned`: it lives, nobody would restart it; `ended`; `lost`: nobody knows
    how it ended; `never`: nothing was started. `owner`: pid, None: there is none."""

    name: str
    state: JobState
    command: tuple[str, ...]
    run: Run | None
    runs: int
    owner: int | None
    started: Started | None
    exit: Exit | None


def look(directory: JobDirectory) -> Job:
    """One job. Torn files are set aside, as everywhere."""
    try:
        spec = directory.current()
    except JobError:
        spec = None
    runs, owner = directory.runs(), directory.owner()
    run = runs[-1] if runs else None
    command = spec.argv if spec else ()
    if run is None:
        return Job(directory.name, "never", command, None, 0, owner, None, None)
    state: JobState
    if run.held():
        state, end = "running" if owner is not None else "unowned", None
    else:
        end = run.ended() or run.given_up()
        state = "ended" if end is not None and end.known else "lost"
    return Job(directory.name, state, command, run, len(runs), owner, run.started(), end)


def all_jobs(state_dir: Path) -> list[Job]:
    return [look(directory) for directory in jobs(state_dir)]


def tree_of(run: Run) -> Tree:
    """The processes of a run, of whatever is known of it."""
    started = run.started()
    roots = [] if started is None else [(item.pid, item.start) for item in (started.shim, started.command)]
    return Tree(roots, run.mark())


def end_unowned(directory: JobDirectory, grace: float) -> bool:
    """Ends a job that has no owner. False: it has one meanwhile. Raises JobError where processes remain."""
    if not directory.take():
        return False
    try:
        run = directory.newest()
        if run is not None and not tree_of(run).end(grace):
            raise JobError(f"processes of job {directory.name} cannot be ended", f"see `ps` for {run.mark()}")
        return True
    finally:
        directory.release()
