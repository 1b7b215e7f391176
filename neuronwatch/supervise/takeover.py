"""What an owner finds of the job whose last owner died (docs/design/0011-supervisor.md has the table)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from neuronwatch.model.job import Exit
from neuronwatch.supervise.current import Current, settled
from neuronwatch.supervise.directory import JobDirectory, Run
from neuronwatch.supervise.errors import JobError
from neuronwatch.supervise.look import tree_of
from neuronwatch.supervise.tree import Tree


class Found(NamedTuple):
    """`current`: a run that lives; `lost`: how a run ended whose parent was killed, and for how many seconds it ran. Both None:
    there was nothing, or it had ended; whatever was left of it is gone."""

    current: Current | None = None
    lost: tuple[Exit, float] | None = None


def find(directory: JobDirectory, grace: float, say: Callable[[str], None]) -> Found:
    """Looks at the newest run, and ends what is left of it where it does not live. Raises JobError."""
    run = directory.newest()
    if run is None:
        return Found()
    if run.ended() is not None or run.given_up() is not None:
        end_all(run, tree_of(run), grace)  # its owner was killed before it had ended what was left
        return Found()
    found = settled(run)
    if run.held():
        if found is None:
            raise JobError(f"run {run.number} of job {directory.name} lives, but does not say as what", f"see {run.path}")
        return Found(found)
    if run.ended() is not None:
        end_all(run, tree_of(run), grace)
        return Found()
    tree = tree_of(run)
    if found is None and not tree.members():
        return Found()
    say(f"the parent of job {directory.name} died, its status is unknown; ending what is left of it")
    end_all(run, tree, grace)
    end = run.give_up(time.time())
    return Found(lost=(end, max(0.0, end.time - (found.begun if found else end.time))))


def end_all(run: Run, tree: Tree, grace: float) -> None:
    """Raises JobError where processes of a run remain."""
    if not tree.end(grace):
        pids = sorted(item.pid for item in tree.members())
        said = f"processes of run {run.number} ({run.path}) cannot be ended: {pids}"
        raise JobError(said, "end them by hand; nothing is started before")
