"""A tool that runs as our child and prints lines: started, read without waiting, ended, and started again with back-off.

It dies with us (`HostRoot.start(tied=True)`). Time limits are those of the machine's clock, whatever time the host lives in.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from neuronwatch.source.host.root import HostRoot, end
from neuronwatch.source.live.api import Absent, Broken

MAX_LINE = 8 << 20
MAX_ONCE = 16 << 20
"""Bytes that are taken in one go; the rest waits in the pipe."""
PIPE = 1 << 20
"""Size of the pipe: a record of 128 cores then comes in one read."""
SMALL = 4096
"""Bytes that are asked for where nobody knows how many there are."""
SHORT_LIFE = 30.0
"""Seconds; a child that lives less is started again after a growing pause, at most LONGEST_PAUSE."""
LONGEST_PAUSE = 30.0


class Child:
    """`argv[0]` is looked up in the host's tool directories at each start."""

    def __init__(self, root: HostRoot, argv: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.argv = list(argv)
        self._root = root
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = bytearray()
        self._skipping = False
        self._words = b""
        self._began = 0.0
        self._short_lives = 0
        self._not_before = 0.0
        self._why = ""
        self.too_long = 0
        """Lines that were dropped because they have more than MAX_LINE bytes."""

    @property
    def alive(self) -> bool:
        return self._process is not None

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return self._clock() - self._began

    def start(self) -> None:
        """Starts it, unless it runs. Raises Absent, or Broken while the pause after its last end lasts."""
        if self._process is not None:
            return
        now = self._clock()
        if now < self._not_before and self._root.program(self.argv[0]) is not None:
            raise Broken(self._why)
        process = self._root.start(self.argv, tied=True)
        if isinstance(process, str):
            raise Absent(f"{self.argv[0]}: {process}")
        self._process = process
        self._began = now
        self._rest.clear()
        self._skipping = False
        self._words = b""
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                _widen(pipe.fileno())

    def descriptors(self) -> tuple[int, ...]:
        process = self._process
        if process is None or process.stdout is None:
            return ()
        return (process.stdout.fileno(),)

    def lines(self) -> list[bytes]:
        """The whole lines that came since the last call. Raises Broken (or Absent) when it ended, after its last
        lines were given."""
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            return []
        self._words = (self._words + _available(process.stderr.fileno(), 1 << 20)[0])[-2048:]
        data, ended = _available(process.stdout.fileno(), MAX_ONCE)
        found = self._split(data)
        if ended and not found:
            self._ended(process)
        return found

    def _split(self, data: bytes) -> list[bytes]:
        if not self._rest and not self._skipping and 1 < len(data) <= MAX_LINE and data.find(b"\n") == len(data) - 1:
            return [data[:-1]] if data.strip() else []  # as a rule a record comes as it is: it is not copied thrice
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            self._keep(data)
            return []
        lines = (bytes(self._rest) + head).split(b"\n")
        self._rest.clear()
        if self._skipping:
            del lines[0]
            self._skipping = False
        found = [line for line in lines if line.strip() and len(line) <= MAX_LINE]
        self.too_long += sum(len(line) > MAX_LINE for line in lines)
        self._keep(tail)
        return found

    def _keep(self, part: bytes) -> None:
        """The beginning of a line; of one that is too long nothing is kept."""
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > MAX_LINE:
            self._rest.clear()
            self._skipping = True
            self.too_long += 1

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        """stdout is at its end: the child is gone, or of no use any more. Raises Absent where its program went with it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        words = " ".join(self._words.decode("utf-8", "replace").split())[-200:]
        self.kill(f"{self.argv[0]} {_status(process.returncode)}" + (f": {words}" if words else ""))
        gone = self._root.lacks(self.argv[0])
        if gone:
            raise Absent(f"{self.argv[0]}: {gone}")
        raise Broken(self._why)

    def kill(self, why: str) -> None:
        """Ends it for good; `why` is said until it runs again."""
        process, self._process = self._process, None
        if process is None:
            return
        end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        self._why = why
        self._short_lives = self._short_lives + 1 if self.age < SHORT_LIFE else 0
        pause = min(LONGEST_PAUSE, 2.0 ** min(self._short_lives - 1, 6)) if self._short_lives else 0.0
        self._not_before = self._clock() + pause


def _status(status: int | None) -> str:
    if status is None:
        return "closed its output"
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _available(descriptor: int, limit: int) -> tuple[bytes, bool]:
    """What can be read without waiting, and whether the end was reached."""
    chunks: list[bytes] = []
    left = limit
    while left > 0:
        size = min(left, _waiting(descriptor) or SMALL)  # a buffer of a megabyte for each record costs more than to read it
        try:
            chunk = os.read(descriptor, size)
        except BlockingIOError:
            break
        except OSError:
            return b"".join(chunks), True
        if not chunk:
            return b"".join(chunks), True
        chunks.append(chunk)
        left -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks), False


def _waiting(descriptor: int) -> int:
    """How many bytes can be read now; 0: none, or nobody knows."""
    try:
        import fcntl
        import termios

        return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (ImportError, OSError):
        return 0


def _widen(descriptor: int) -> None:
    """A larger pipe, where the system has such and the user's share of them is not used up."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE)
    except (ImportError, AttributeError, OSError):
        pass
