"""/dev/kmsg, record by record: none is lost without being counted, none is read again after a restart."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended
from neuronwatch.source.host.kernel_log import kmsg_line
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.followed import FLOODED
from neuronwatch.source.live.inotify import Timer
from neuronwatch.source.live.positions import Positions
from neuronwatch.source.live.rests import CLOSE

DEVICE = "/dev/kmsg"
PATH = f"host:{DEVICE}"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
AT_ONCE = 4_000
"""Records that one call reads at most."""


class Kmsg:
    """Raises Absent where the ring may not be read, Broken where reading fails. `device`: another file that behaves so."""

    heard = True

    def __init__(self, root: HostRoot, positions: Positions, flood: Flood, device: str = DEVICE) -> None:
        self._positions = positions
        self._flood = flood
        self._boot = root.text(BOOT_ID, 256) or ""
        try:
            self._descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Absent(f"{device}: {(error.strerror or str(error)).lower()}") from error
        self._timer: Timer | None = None
        with contextlib.suppress(OSError, AttributeError):
            self._timer = Timer()
        self._resting = False
        self._fresh = True
        self._lost = 0
        self._told = 0
        known: list[object] = positions.values.get("kmsg") or []
        self._next: int | None = None
        """The sequence number of the first record that was not read; None: of whichever comes first."""
        self._line = 1
        if isinstance(known, list) and len(known) == 3 and known[0] == self._boot and self._boot:
            number, line = known[1:]
            if isinstance(number, int) and isinstance(line, int) and number >= 0 and line >= 1:
                self._next, self._line = number, line

    def read(self, now: Now) -> list[Appended]:
        found: list[Appended] = []
        lines: list[bytes] = []
        dropped = 0
        for _ in range(AT_ONCE):
            record = self._record()
            if record is None:
                break
            item = kmsg_line(record)
            if item is None:
                continue
            number, line = item
            if self._next is not None and number < self._next:
                continue  # read before we were started anew
            missed = number - self._next if self._next is not None else 0
            if missed:  # overwritten before anybody read them
                found += self._made(lines, dropped)
                lines, dropped = [], missed
                self._lost += missed
            self._next = number + 1
            lines.append(line)
        else:
            self._rest(CLOSE)
        found += self._made(lines, dropped)
        found = [piece for item in found for piece in self._flood.take(item, now.mono)] + self._flood.due(now.mono)
        self._rest(CLOSE if lines else FLOODED if self._flood.flooding else 0.0)
        if found and self._next is not None:
            self._positions.values["kmsg"] = [self._boot, self._next, self._line]
        return found

    def _record(self) -> bytes | None:
        """The next record, None: there is none now."""
        while True:
            try:
                return os.read(self._descriptor, 16 * 1024) or None
            except BlockingIOError:
                return None
            except OSError as error:
                if error.errno != errno.EPIPE:  # EPIPE: some were overwritten; the next number tells how many
                    raise Broken(f"{PATH}: {(error.strerror or str(error)).lower()}") from error

    def _made(self, lines: list[bytes], dropped: int) -> list[Appended]:
        if not lines and not dropped:
            return []
        fresh, self._fresh = self._fresh, False
        made = Appended(PATH, b"".join(lines), fresh, dropped, self._line if fresh else 1)
        self._line += dropped + len(lines)
        return [made]

    def _rest(self, seconds: float) -> None:
        self._resting = seconds > 0.0 and self._timer is not None
        if self._timer is not None:
            if seconds > 0.0:
                self._timer.start(seconds)
            else:
                self._timer.stop()

    def reports(self) -> tuple[SourceReport, ...] | None:
        """How many records were lost, where that changed."""
        if self._lost == self._told:
            return None
        self._told = self._lost
        reason = f"{self._lost:,} messages were overwritten before they were read"
        return (SourceReport(f"{PATH} (overwritten)", "kernel-log", "partial", reason),)

    def descriptors(self) -> Sequence[int]:
        if self._resting and self._timer is not None:
            return (self._timer.descriptor,)
        return (self._descriptor,)

    def close(self) -> None:
        os.close(self._descriptor)
        if self._timer is not None:
            self._timer.close()
