"""Proposals of jobs that wait for a person: which there are, and what becomes of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from neuronwatch.remedy import story
from neuronwatch.remedy.audit import Audit
from neuronwatch.remedy.desk import Desk
from neuronwatch.remedy.entries import diff
from neuronwatch.remedy.state import Pending
from neuronwatch.supervise import control, directory
from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.errors import JobError

Answer = Literal["approve", "decline"]


class Waiting(NamedTuple):
    """A proposal, and the job whose owner made it."""

    job: JobDirectory
    pending: Pending

    @property
    def preview(self) -> list[str]:
        """What would change, a line each; without changes of the spec how it is undone."""
        changes = [story.change_line(change) for change in diff(self.pending.proposal.changes)]
        return changes or [f"undo: {self.pending.proposal.undo}"]


def waiting(state_dir: Path) -> Iterator[Waiting]:
    """By the job's name. Never raises: a job that cannot be read has none."""
    for job in directory.jobs(state_dir):
        pending = Desk(job.path).look().pending
        if pending is not None:
            yield Waiting(job, pending)


def answer(item: Waiting, what: Answer, now: float) -> bool | None:
    """Writes the answer down and tells the owner. True: an owner hears it; False: there is none now, the next one will; None: the
    proposal has expired, nothing was done. Raises OSError."""
    pending = item.pending
    if now >= pending.expires:
        return None
    Desk(item.job.path).answer(pending.id, what, now)
    told = {"id": pending.id, "answer": what, "fault": pending.fault, "action": pending.action}
    Audit(item.job.path).append("answer", now, told)
    return poke(item.job)


def poke(job: JobDirectory) -> bool:
    """Tells the owner that something is there for it; False: there is none that hears."""
    try:
        return control.ask(job, "hear") is not None
    except JobError:
        return False


def document(item: Waiting) -> dict[str, Any]:
    """As plain data, for the API."""
    pending = item.pending
    return {
        "id": pending.id, "job": item.job.name, "fault": pending.fault, "action": pending.action, "words": pending.proposal.words,
        "preview": item.preview, "run": pending.run, "since": pending.since, "expires": pending.expires,
    }  # fmt: skip
