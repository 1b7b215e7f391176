"""`neuronwatch top` in a terminal of its own: a pty whose output is read all the time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

PATIENCE = 90.0
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|.)")


class Screen:
    """`said`: everything that was drawn so far, without escapes."""

    def __init__(self, *argv: str, tmp: Path, width: int = 120, height: int = 40) -> None:
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", "TMPDIR": str(tmp), "HOME": str(tmp), "COLUMNS": "", "LINES": ""}
        env.pop("STATE_DIRECTORY", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "neuronwatch", "top", *argv],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=env,
            start_new_session=True,
        )
        os.close(inner)
        self._outer = outer
        self._data = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._outer, 65536):
                self._data += data

    @property
    def said(self) -> str:
        return _ESCAPE.sub("", self._data.decode("utf-8", "replace"))

    def forget(self) -> None:
        self._data = b""

    def press(self, keys: str) -> None:
        os.write(self._outer, keys.encode())

    def until(self, text: str) -> None:
        until(lambda: text in self.said, f"{text!r} on the screen", lambda: self.said[-3000:])

    def hang_up(self) -> None:
        """The terminal goes away."""
        os.close(self._outer)
        self._outer = -1

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self._outer >= 0:
            os.close(self._outer)


def until(ask, what, more=str):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if ask():
            return
        time.sleep(0.05)
    raise AssertionError(f"never: {what} {more()}")


def with_word(word: str) -> list[int]:
    """Processes that live and have a word in their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if word.encode() in Path("/proc", name, "cmdline").read_bytes():
                    found.append(int(name))
    return found
