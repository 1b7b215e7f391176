"""Children of the loop: started without a shell, with JSON on their input, ended at a time limit. Nothing here waits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence

from neuronwatch.daemon.loop import READ, Loop

POLL = 0.2
MAX_ERROR = 4096


class Child:
    """`done(status, stderr)` is called once: the exit status, negative for a signal, None at the time limit."""

    def __init__(
        self, loop: Loop, argv: Sequence[str], data: bytes, environ: Mapping[str, str], limit: float,
        done: Callable[[int | None, str], None],
    ) -> None:  # fmt: skip
        """Raises OSError when it cannot be started. `limit` is in the machine's seconds, infinite: none."""
        self._loop = loop
        self._done: Callable[[int | None, str], None] | None = done
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (read when it has ended)
        with tempfile.TemporaryFile() as stdin:
            stdin.write(data)
            stdin.seek(0)
            self._process = subprocess.Popen(
                list(argv), stdin=stdin, stdout=subprocess.DEVNULL, stderr=self._errors, env=dict(environ), cwd=os.sep,
                start_new_session=True, close_fds=True,
            )  # fmt: skip
        self._timer = loop.at(loop.clock.now().mono + limit * loop.clock.rate, lambda: self._end(None))
        self._pidfd = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(self._process.pid)
        if self._pidfd >= 0:
            loop.watch(self._pidfd, READ, lambda _events: self._look())
            self._poll = None
        else:
            self._poll = loop.every(POLL * loop.clock.rate, self._look)

    def _look(self) -> None:
        status = self._process.poll()
        if status is not None:
            self._end(status)

    def kill(self) -> None:
        """Ends it, without a word to `done`."""
        self._done = None
        self._end(None)

    def _end(self, status: int | None) -> None:
        if self._errors.closed:
            return
        if status is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
        self._timer.cancel()
        if self._poll is not None:
            self._poll.cancel()
        if self._pidfd >= 0:
            self._loop.forget(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        self._errors.seek(0)
        said = self._errors.read(MAX_ERROR).decode("utf-8", "replace").strip()
        self._errors.close()
        if self._done is not None:
            self._done(status, said)
