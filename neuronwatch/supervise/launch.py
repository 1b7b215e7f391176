"""Starts a command under a shim. A shim waits ready, because a Python needs 10 ms to start and a restart may take 5."""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuronwatch.model.job import JobSpec
from neuronwatch.store.json_files import write_json
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.errors import JobError
from neuronwatch.supervise.tree import MARK, boot_id

SHIM = Path(__file__).with_name("shim.py")
ANSWER = 30.0
"""Seconds in which a shim says what it started; a fork takes milliseconds."""


class Shim:
    """One that waits for its order. `socket` becomes readable when it tells the end of the command, and at its own end."""

    def __init__(self) -> None:
        """Raises JobError."""
        self.socket, theirs = socket.socketpair()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SHIM)], stdin=theirs.fileno(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
            )  # fmt: skip
        except OSError as error:
            self.socket.close()
            raise JobError(f"the parent of the job cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
        self.pid = self._child.pid
        self._rest = b""

    def order(self, order: Mapping[str, Any], lock: int, place: int) -> None:
        """Gives the order, the lock and the run's directory: all but the start. Raises JobError when it went away."""
        data = json.dumps(order).encode()
        self.socket.settimeout(ANSWER)
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lock, place]))]
            self.socket.sendmsg([len(data).to_bytes(8, "little")], rights)
            self.socket.sendall(data)
        except OSError as error:
            raise JobError(f"the parent of the job went away: {error}") from error

    def go(self) -> dict[str, Any]:
        """Starts what was ordered; what it answered. Raises JobError when it went away."""
        try:
            self.socket.sendall(b"\1")
            answer = self.told()
        except OSError as error:
            raise JobError(f"the parent of the job went away: {error}") from error
        if answer is None:
            raise JobError("the parent of the job went away before it started the command")
        self.socket.setblocking(False)
        return answer

    def told(self) -> dict[str, Any] | None:
        """The next line that it said; None when it is gone or (not blocking) has said nothing."""
        while b"\n" not in self._rest:
            try:
                part = self.socket.recv(65536)
            except BlockingIOError:
                return None
            if not part:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        found = json.loads(line)
        return found if isinstance(found, dict) else None

    @property
    def says_more(self) -> bool:
        """Whether a line was read already that nobody took: a command may end before anybody looks."""
        return b"\n" in self._rest

    def poll(self) -> int | None:
        """Reaps it; None while it lives."""
        status: int | None = self._child.poll()
        return status

    def dismiss(self, wait: bool = True) -> None:
        """Ends one that was never needed, or lets one go whose command ended; without `wait` it is reaped some time later
        (by the next `Popen`)."""
        with contextlib.suppress(OSError):
            self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(5 if wait else 0)


def mark_of(run: Run) -> str:
    return f"{boot_id()}:{os.urandom(8).hex()}:{run.number}"


def environment(spec: JobSpec, run: Run, mark: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What the command gets: ours, the overlay of the spec, and what names the run."""
    made = {name: text for name, text in environ.items() if name not in (MARK, "NEURONWATCH_EMIT")}
    for name, value in spec.env.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    return {**made, MARK: mark, "NEURONWATCH_EMIT": str(run.emit)}


def intend(place: Run, run: Run, spec: JobSpec, why: str, now: float, mark: str = "") -> str:
    """Writes, where the run is or waits, what is about to be started, before anything is; the mark of the run. Raises OSError."""
    mark = mark or mark_of(run)
    write_json(place.path / "intent.json", {"mark": mark, "argv": list(spec.argv), "why": why, "time": now}, durable=False)
    return mark


def argv_of(spec: JobSpec) -> list[str]:
    """The command, with the interpreter of the spec where it begins with a Python, and its overlay of the configuration."""
    argv = list(spec.argv)
    if spec.interpreter and os.path.basename(argv[0]).startswith("python"):
        argv[0] = spec.interpreter
    for name, value in spec.config.items():
        argv += ["--set", f"{name}={json.dumps(value)}"]  # of numbers, truths and texts the same as in TOML
    return argv


def order_of(run: Run, spec: JobSpec, mark: str, environ: Mapping[str, str]) -> dict[str, Any]:
    return {"argv": argv_of(spec), "cwd": spec.cwd, "env": environment(spec, run, mark, environ)}
