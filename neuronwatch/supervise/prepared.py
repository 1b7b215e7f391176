"""The next run of a job, ready before the last one ends: its directory, its lock, and its command behind the gate of a shim.

What takes time is done while nobody waits. Until `start` nothing of it counts: the directory stands beside the runs under a name
that is none, and the shim ends by itself when its owner does.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any

from neuronwatch.model.job import JobSpec
from neuronwatch.supervise import launch
from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.errors import JobError


class Prepared:
    """One start, not yet made. The caller owns the job."""

    def __init__(self, directory: JobDirectory, spec: JobSpec, environ: Mapping[str, str]) -> None:
        """Raises JobError where the directory or the shim cannot be made."""
        self.spec = spec
        self._directory = directory
        self.run = directory.next_run()
        try:
            waiting = directory.make_waiting()
            lock = waiting.lock()
        except OSError as error:
            raise JobError(f"the next run in {directory.path} cannot be made: {error.strerror}", "make room there") from error
        assert lock is not None, "nobody else makes runs: the job is ours"
        self._lock = lock
        try:
            self.mark = launch.intend(waiting, self.run, spec, "", time.time())
            self.shim = launch.Shim()
        except OSError as error:
            os.close(lock)
            raise JobError(f"the next run in {directory.path} cannot be written: {error.strerror}", "make room there") from error
        except JobError:
            os.close(lock)
            raise
        place = os.open(waiting.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.shim.order(launch.order_of(self.run, spec, self.mark, environ), lock, place)
        except JobError:
            pass  # it went away already: `alive` says so
        finally:
            os.close(place)

    def alive(self) -> bool:
        """Whether its shim still waits."""
        return self.shim.poll() is None

    def start(self, why: str) -> dict[str, Any]:
        """Makes it the newest run and opens the gate; what the shim answered, empty where it went away. Raises JobError."""
        try:
            self._directory.admit(self.run)
        except OSError as error:
            self.discard()
            raise JobError(f"{self.run.path} cannot be made: {error.strerror}", "make room there") from error
        try:
            answer = self.shim.go()
        except JobError:  # killed before it could answer, perhaps after it had started the command
            answer = {}
        finally:
            os.close(self._lock)
        with contextlib.suppress(OSError):  # why it was started is for people
            launch.intend(self.run, self.run, self.spec, why, time.time(), self.mark)
        return answer

    def discard(self) -> None:
        """It is not needed, or not as it is."""
        self.shim.dismiss()
        os.close(self._lock)
        self._directory.clear_waiting()
