"""A private place: a temporary directory and child processes, all gone when we are, however we end.

The children die with us (source/host/tied.py); what removes the directory after a kill -9 is a shell that waits for the end of
its input, in a session of its own so that no hang-up of the terminal reaches it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuronwatch.source.host import tied

LONGEST = 78
"""Bytes of the directory for temporary files with which a socket in ours still has an address (107 bytes)."""
PATIENCE = 5.0
"""Seconds that a child gets to end by itself."""
_REMOVE = 'while read -r pid; do kill="$kill $pid"; done; [ -z "$kill" ] || kill -9 $kill; sleep 1; rm -rf -- "$1"'
"""Takes pids where the system does not let a child die with its parent."""


class Room:
    """`directory`: ours alone (0700)."""

    def __init__(self) -> None:
        place = tempfile.gettempdir()
        place = place if len(os.fsencode(place)) < LONGEST else "/tmp"
        self.directory = Path(tempfile.mkdtemp(prefix="neuronwatch-top-", dir=place))
        self._children: list[subprocess.Popen[bytes]] = []
        self._guard: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # without a shell the directory is only removed when we end in order
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _REMOVE, "neuronwatch-top", str(self.directory)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
            )  # fmt: skip

    def start(self, name: str, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """`neuronwatch ARGV...` as a child that dies with the thread that calls this. What it says on stderr is in `said(name)`."""
        # Where this package is: the child finds the same one, whatever the directory it is started in holds.
        path = os.pathsep.join([str(Path(__file__).resolve().parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-I", "-S", tied.__file__, str(os.getpid()), sys.executable, "-m", "neuronwatch", *argv]
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=self.directory,
                env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            )  # fmt: skip
        self._children.append(process)
        if not sys.platform.startswith("linux") and self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.stdin.write(b"%d\n" % process.pid)
                self._guard.stdin.flush()
        return process

    def said(self, name: str) -> str:
        """The last line that a child said."""
        try:
            text = (self.directory / f"{name}.log").read_bytes()[-4096:].decode("utf-8", "replace").strip()
        except OSError:
            return ""
        return text.rsplit("\n", 1)[-1].removeprefix("neuronwatch: ")

    def close(self) -> None:
        """Ends the children, the last one first, and removes everything."""
        for child in reversed(self._children):
            end(child)
        self._children.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.kill()
                self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, and SIGKILL for who does not listen; what it started goes with it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with contextlib.suppress(OSError):  # its own process group
        os.killpg(process.pid, signal.SIGKILL)
