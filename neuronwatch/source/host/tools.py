"""The Neuron tools: `neuron-ls -j` (its table is for people), and which tools there are. Only on a machine with devices."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, Output, VirtualFile, numbered

TIMEOUT = 15.0
"""neuron-ls answers within a second; a driver that hangs does not answer at all."""
PATIENCE = 5.0
"""Seconds that a query waits for another one's end."""


def collect(root: HostRoot) -> Iterator[HostItem]:
    has_devices = bool(numbered(root.names("/dev"), "neuron"))
    if has_devices or root.program("neuron-ls") is not None:
        yield from told(ask(root))


def ask(root: HostRoot, *, tied: bool = False) -> tuple[str, Output]:
    """The command and its answer: `neuron-ls -j`, or the table of a tool that is too old for JSON. Queries at the same time
    disturb each other (fixed in SDK 2.28 only), so those of neuronwatch wait for one another."""
    with _alone(root):
        answer = root.run(("neuron-ls", "-j"), timeout=TIMEOUT, tied=tied)
        if answer.status and b"unknown flag" in answer.stdout + answer.stderr:
            return "neuron-ls", root.run(("neuron-ls",), timeout=TIMEOUT, tied=tied)
        return "neuron-ls -j", answer


def told(asked: tuple[str, Output]) -> Iterator[HostItem]:
    """What an answer tells: its text, also where that is only why there is none, else a report."""
    command, answer = asked
    if answer.status == 0 and answer.stdout.strip():
        yield VirtualFile(f"host:{command}", answer.stdout)
        return
    if answer.reason:
        state = "missing" if answer.reason.startswith("not ") else "failed"
        yield SourceReport(f"host:{command}", "neuron-ls", state, answer.reason)
        if answer.reason == "not installed":
            where = "no neuron-ls in /opt/aws/neuron/bin nor in the system's directories"
            yield Fact("host.commands_missing", ("neuron-ls",), Origin("host:/opt/aws/neuron/bin", None, where))
        if state == "failed":
            yield Fact("source.unavailable", (f"neuron-ls: {answer.reason}",), Origin(f"host:{command}"))
        return
    said = (answer.stderr + b"\n" + answer.stdout).strip()
    if said:
        # No device, or a driver that does not answer: the tool's own words are evidence.
        yield VirtualFile(f"host:{command}", said + b"\n")
    else:
        yield SourceReport(f"host:{command}", "neuron-ls", "failed", f"exit status {answer.status}, no output")


@contextlib.contextmanager
def _alone(root: HostRoot) -> Iterator[None]:
    """Holds a lock on the program's file while it is asked, so that `diagnose` and the daemon take turns; after PATIENCE seconds
    it is asked all the same."""
    where = root.program("neuron-ls")
    try:
        import fcntl

        descriptor = os.open(where, os.O_RDONLY | os.O_CLOEXEC) if where is not None else -1
    except (ImportError, OSError):
        descriptor = -1
    try:
        until = time.monotonic() + PATIENCE
        while descriptor >= 0 and time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.05)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)
