"""neuron-top on a pseudo-terminal, where there is no neuron-monitor: its screen is kept by a terminal emulator (pyte) and read by
the parser that reads captured screens. Utilisation is all that it gives; nothing of it goes to the judge."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import time
from collections.abc import Callable
from typing import Any

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.model.records import Sample
from neuronwatch.parse import neuron_top
from neuronwatch.parse.api import Line
from neuronwatch.source.host.root import HostRoot, end
from neuronwatch.source.live.api import Absent, Broken, Now

ROWS, COLUMNS = 60, 160
HANG = 15.0
"""Seconds of the machine without a redraw (it draws each second) after which it is killed."""
START = 5.0
"""Seconds of the machine in which the first screen must hold a core."""
MOST = 1 << 20


class NeuronTop:
    name = "neuron-top"
    budget = 15.0
    interval = 5.0
    mandatory = False
    blocking = False

    def __init__(self, root: HostRoot, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._terminal = -1
        self._screen: Any = None
        self._stream: Any = None
        self._began = self._drawn = 0.0

    def poll(self, now: Now) -> Delivery | None:
        if self._root.program("neuron-monitor") is not None:
            self.close()
            raise Absent("not needed: neuron-monitor is installed")
        if self._process is None:
            self._start()
        if not self._draw():
            if self._clock() - self._drawn > HANG:
                self.close()
                raise Broken(f"neuron-top drew nothing for {HANG:g} s and is started anew")
            return None
        readings = self._readings()
        if not readings and self._clock() - self._began > START:
            raise Broken("there is no core on the screen of neuron-top")
        return Delivery(self.name, now.wall, readings) if readings else None

    def _start(self) -> None:
        try:
            import fcntl
            import pty
            import termios

            import pyte
        except ImportError as error:
            raise Absent(f"no terminal emulator: {error}") from error
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = self._root.start(["neuron-top"], tied=True, terminal=theirs)
        os.close(theirs)
        if isinstance(process, str):
            os.close(ours)
            raise Absent(f"neuron-top: {process}")
        os.set_blocking(ours, False)
        self._process, self._terminal = process, ours
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._began = self._drawn = self._clock()

    def _draw(self) -> bool:
        """Takes what it drew since the last poll; whether there was anything. Raises Broken or Absent when it
        ended."""
        ended, size = False, 0
        while size < MOST and not ended:
            try:
                data = os.read(self._terminal, 65536)
            except BlockingIOError:
                break
            except OSError:  # EIO: nobody has the terminal open any more
                data = b""
            ended = not data
            size += len(data)
            try:
                self._stream.feed(data)
            except Exception as error:  # pyte has no errors of its own: a sequence that it does not know makes it fail anyhow
                self.close()
                raise Broken(f"the screen of neuron-top cannot be read: {type(error).__name__}") from error
        if ended and self._process is not None:
            process, words = self._process, " ".join(" ".join(self._screen.display).split())[-200:]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            self.close()
            gone = self._root.lacks("neuron-top")
            if gone:
                raise Absent(f"neuron-top: {gone}")
            status = process.returncode
            how = f"was killed by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
            raise Broken(f"neuron-top {how}" + (f": {words}" if words and status and status > 0 else ""))
        if size:
            self._drawn = self._clock()
        return size > 0

    def _readings(self) -> list[Reading]:
        """Utilisation (or the rate of operations) of every core on the screen."""
        lines = [
            Line("host:neuron-top", number, text, text) for number, text in enumerate(map(str.rstrip, self._screen.display), 1)
        ]
        found: dict[tuple[str, str], Reading] = {}
        for record in neuron_top.parse(lines):
            if isinstance(record, Sample) and record.value is not None:
                busy = record.name == "utilisation"
                metric, value = ("core.utilization", record.value) if busy else ("core.flops", record.value * 1e12)
                found[metric, record.entity] = Reading(metric, record.entity, value)
        return list(found.values())

    def descriptors(self) -> tuple[int, ...]:
        return ()  # read at its interval: a screen that is redrawn each second needs no more

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process)
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
