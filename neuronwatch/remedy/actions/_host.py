"""Programs that act on the host: run as argument lists, on the live host (as root) or on a simulated one, nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping

from neuronwatch.model.records import Value
from neuronwatch.remedy.api import Case, RemedyError
from neuronwatch.source.host.root import HostRoot


def root_of(hand: Mapping[str, Value]) -> HostRoot:
    """Raises RemedyError where nothing may be done."""
    root = HostRoot(str(hand.get("host_root") or "/"))
    if not root.may_run():
        raise RemedyError(f"{root.path} is no live host: nothing is done there")
    if root.live and os.geteuid() != 0:
        raise RemedyError("only root may do this to the host", "run it by hand with sudo")
    return root


def run(root: HostRoot, *argv: str, timeout: float = 120.0) -> str:
    """The output of one program. Raises RemedyError with its words where it fails."""
    answer = root.run(argv, timeout=timeout)
    said = (answer.stderr + answer.stdout).decode("utf-8", "replace").strip()[:300]
    if answer.reason or answer.status:
        raise RemedyError(f"`{' '.join(argv)}` failed: {answer.reason or said or f'status {answer.status}'}")
    return said


def hand_of(case: Case, **more: Value) -> Mapping[str, Value]:
    return {"host_root": case.survey.host_root, **more}


def irreversible(record: Mapping[str, Value]) -> str:
    return f"irreversible: {record.get('did', 'it was done')}"
