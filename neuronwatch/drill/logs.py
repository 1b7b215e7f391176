"""Log files of the host: appended to, rotated by size as logrotate does, and the kernel log with its ring."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from neuronwatch.drill.clock import Clock, syslog_stamp

KERN_LOG = "/var/log/kern.log"
SYSLOG = "/var/log/syslog"


class Appender(Protocol):
    """What takes text for a file below the root."""

    def append(self, path: str, text: str) -> None: ...


class Logs:
    """Lines for text files, by path on the host; written out once a tick, in order."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}

    def line(self, path: str, text: str) -> None:
        """One line (or several, with their line ends between) for the file."""
        if path:
            self._waiting.setdefault(path, []).append(text + "\n")

    def flush(self, files: Appender) -> None:
        waiting, self._waiting = self._waiting, {}
        for path, lines in waiting.items():
            files.append(path, "".join(lines))


JOURNAL = "/.drill/journal"


class Journal:
    """What units write to systemd's journal; syslog keeps a copy. journalctl reads it."""

    def __init__(self, clock: Clock, logs: Logs, hostname: str = "localhost") -> None:
        self.clock = clock
        self.logs = logs
        self.hostname = hostname

    def say(self, unit: str, tag: str, pid: int, text: str) -> None:
        now = self.clock.now
        self.logs.line(JOURNAL, f"{now:.6f}\t{unit}\t{tag}\t{pid}\t{text}")
        self.logs.line(SYSLOG, f"{syslog_stamp(now)} {self.hostname} {tag}[{pid}]: {text}")


class KernelLog:
    """The kernel's ring: `dmesg` shows it, syslog keeps a copy in kern.log. Nothing of it is lost until it is full."""

    SIZE = 4000

    def __init__(self, clock: Clock, logs: Logs, hostname: str = "localhost") -> None:
        self.clock = clock
        self.logs = logs
        self.hostname = hostname
        self.ring: deque[str] = deque(maxlen=self.SIZE)
        self.written = 0
        self._last = 0.0

    def say(self, text: str, *, at: float | None = None) -> None:
        """One message, as printk gets it. `at`: seconds since boot, for what the boot said. Each message is later than the one
        before it."""
        up = self.clock.uptime() if at is None else at
        self._last = up = max(up, self._last + 0.000_021)
        record = f"[{up:12.6f}] {text}"
        self.ring.append(record)
        self.written += 1
        self.logs.line(KERN_LOG, f"{syslog_stamp(self.clock.boot + up)} {self.hostname} kernel: {record}")

    def reboot(self) -> None:
        """The ring of the new kernel is empty; what syslog kept stays."""
        self.ring.clear()
        self._last = 0.0

    def driver(self, function: str, text: str, *, at: float | None = None) -> None:
        """A message of a file of the driver that names module and function in front."""
        self.say(f"neuron:{function}: {text}", at=at)
